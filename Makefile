# Everything a contributor runs. `make` alone lists the targets; `make test` is the gate that continuous integration runs.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.DELETE_ON_ERROR:

GO                ?= go
STATICCHECK_VERSION := v0.8.2
GOLANGCI_VERSION    := v2.15.0

FUZZTIME      ?= 5s
FUZZ_PKGS     ?= . ./bench/raw ./internal/resp ./internal/command ./internal/wire
BENCH         ?= .
BENCH_COUNT   ?= 6
TEST_FLAGS    ?= -shuffle=on
TEST_TIMEOUT  ?= 10m

# A tool's version is part of its file name, so that raising a pin installs the new one.
STATICCHECK := $(CURDIR)/bin/staticcheck-$(STATICCHECK_VERSION)
GOLANGCI    := $(CURDIR)/bin/golangci-lint-$(GOLANGCI_VERSION)

# Each directory with a go.mod is a module with its own dependencies; every gate runs in all of them.
MODULES := $(sort $(patsubst %/,%,$(dir $(shell find . -name go.mod -not -path './bin/*' -not -path '*/testdata/*' -not -path './.git/*'))))

# $(call each,COMMAND) runs COMMAND in every module and stops at the first failure.
define each
for module in $(MODULES); do echo "== $$module: $(1)"; (cd "$$module" && $(1)) || exit 1; done
endef

.PHONY: help
help: ## List the targets
	@echo "usage: make TARGET"; echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1|\2/' | while IFS='|' read -r name text; do printf '  %-12s %s\n' "$$name" "$$text"; done
	@echo; echo "variables: FUZZTIME=$(FUZZTIME) BENCH=$(BENCH) BENCH_COUNT=$(BENCH_COUNT) TEST_FLAGS='$(TEST_FLAGS)' TEST_TIMEOUT=$(TEST_TIMEOUT)"

.PHONY: test
test: server fmt-check vet staticcheck race fuzz lint ## Set up a server, then run every gate: gofmt, vet, staticcheck, tests with -race, short fuzz, golangci-lint

.PHONY: server
server: ## Make sure that redis-server or valkey-server is installed (never calls sudo)
	@./scripts/ensure-redis.sh

.PHONY: fmt
fmt: $(GOLANGCI) ## Format every Go file (gofumpt, import groups)
	@$(call each,$(GOLANGCI) fmt ./...)

.PHONY: fmt-check
fmt-check: ## Fail if a Go file is not formatted
	@echo "== gofmt"; unformatted="$$(gofmt -l .)"; if [ -n "$$unformatted" ]; then echo "not formatted, run 'make fmt':"; echo "$$unformatted"; exit 1; fi

.PHONY: vet
vet: ## Vet for linux, darwin and windows
	@for os in linux darwin windows; do for module in $(MODULES); do echo "== $$module: vet for $$os"; (cd "$$module" && GOOS=$$os $(GO) vet ./...) || exit 1; done; done

.PHONY: staticcheck
staticcheck: $(STATICCHECK) ## Run the pinned staticcheck
	@$(call each,$(STATICCHECK) ./...)

.PHONY: lint
lint: $(GOLANGCI) ## Run the pinned golangci-lint (the first install takes minutes)
	@$(call each,$(GOLANGCI) run ./...)

.PHONY: race
race: server ## Run the tests of every module with the race detector, in random order
	@$(call each,$(GO) test -race -timeout $(TEST_TIMEOUT) $(TEST_FLAGS) ./...)

.PHONY: fuzz
fuzz: ## Fuzz each target of FUZZ_PKGS for FUZZTIME
	@for pkg in $(FUZZ_PKGS); do \
		targets="$$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true)"; \
		[ -n "$$targets" ] || { echo "no fuzz target in $$pkg" >&2; exit 1; }; \
		for target in $$targets; do \
			echo "== fuzz $$pkg $$target for $(FUZZTIME)"; \
			$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$pkg" || exit 1; \
		done; \
	done

.PHONY: bench
bench: ## Run the Go benchmarks of this module (BENCH selects, BENCH_COUNT repeats)
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count $(BENCH_COUNT) ./...

.PHONY: verify
verify: tidy-check test ## What a release needs: tidy modules, every gate, then longer fuzzing and the tests three times over
	@$(MAKE) --no-print-directory fuzz FUZZTIME=60s
	@$(MAKE) --no-print-directory race TEST_FLAGS='-shuffle=on -count=3' TEST_TIMEOUT=30m

.PHONY: tidy-check
tidy-check: ## Fail if a go.mod or go.sum is not tidy
	@$(call each,$(GO) mod tidy -diff)

.PHONY: generate
generate: ## Write the generated files anew (the command table)
	@$(GO) generate ./...

.PHONY: build
build: ## Build the command line into bin/evenkeel
	@$(GO) build -o bin/evenkeel ./cmd/evenkeel

.PHONY: install
install: ## Install the command line into $GOBIN (or $GOPATH/bin)
	@$(GO) install ./cmd/evenkeel

.PHONY: demo
demo: ## Run the demo: needs no server, takes half a minute
	@$(GO) run ./cmd/evenkeel demo

.PHONY: clean
clean: ## Remove what the targets built (not Go's own caches)
	@rm -rf bin
	@find . -name '*.test' -type f -not -path './.git/*' -delete

$(STATICCHECK):
	@echo "installing staticcheck $(STATICCHECK_VERSION)"
	@GOBIN=$(CURDIR)/bin $(GO) install honnef.co/go/tools/cmd/staticcheck@$(STATICCHECK_VERSION)
	@mv bin/staticcheck $@

$(GOLANGCI):
	@echo "installing golangci-lint $(GOLANGCI_VERSION): a cold build takes minutes, and is cached afterwards"
	@GOBIN=$(CURDIR)/bin $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	@mv bin/golangci-lint $@
