package archtest

import (
	"slices"
	"strings"
	"testing"
)

// ruleFor finds the row of a package: an exact one before one that covers a family.
func ruleFor(dir string) (rule, bool) {
	for _, r := range rules {
		if r.dir == dir {
			return r, true
		}
	}
	for _, r := range rules {
		if strings.HasSuffix(r.dir, "/...") && within(dir, []string{r.dir}) {
			return r, true
		}
	}
	return rule{}, false
}

func TestEveryPackageHasARule(t *testing.T) {
	for dir := range loadTree(t).packages() {
		if _, ok := ruleFor(dir); !ok {
			t.Errorf("package %q has no row in rules_test.go: add one that says what it may import, and why", dir)
		}
	}
}

func TestImportsOfCode(t *testing.T) {
	for dir, files := range loadTree(t).packages() {
		r, ok := ruleFor(dir)
		if !ok {
			continue // TestEveryPackageHasARule reports it
		}
		for _, f := range files {
			for _, imported := range f.imports(t) {
				own, isOwn := ownDir(imported)
				switch {
				case isStdlib(imported):
				case isOwn && within(own, r.own):
				case !isOwn && hasModule(imported, r.third):
				default:
					t.Errorf("%s imports %s: not allowed in %s, because %s", f.path, imported, r.dir, r.reason)
				}
				if reason, ok := testOnly[own]; isOwn && ok {
					t.Errorf("%s imports %s, which is for tests only: %s", f.path, imported, reason)
				}
			}
		}
	}
}

func TestImportsOfTests(t *testing.T) {
	for _, f := range loadTree(t).files {
		if !f.test || f.nested {
			continue
		}
		r, ok := ruleFor(f.dir)
		if !ok {
			continue
		}
		for _, imported := range f.imports(t) {
			own, isOwn := ownDir(imported)
			target, known := ruleFor(own)
			switch {
			case isStdlib(imported):
			case !isOwn && (hasModule(imported, r.third) || hasModule(imported, testThird)):
			case isOwn && (within(own, testOwn) || within(own, r.own) || known && target.layer <= r.layer):
			default:
				t.Errorf("%s imports %s: a test of %s may import our packages up to layer %d, %q, and the modules %q", f.path, imported, f.dir, r.layer, testOwn, testThird)
			}
		}
	}
}

// TestRulesRunDownward checks the table itself, so that a row added in haste cannot turn the layers upside down.
func TestRulesRunDownward(t *testing.T) {
	const coreTop = 3
	for _, r := range rules {
		if r.reason == "" {
			t.Errorf("rule for %s has no reason", r.dir)
		}
		isCore := r.layer <= coreTop && r.dir != "evenkeeltest"
		if isCore && len(r.third) > 0 {
			t.Errorf("rule for %s allows %q: the core imports the standard library only", r.dir, r.third)
		}
		for _, own := range r.own {
			if own == r.dir {
				continue // a family may import within itself
			}
			target, ok := ruleFor(strings.TrimSuffix(own, "/..."))
			if !ok {
				t.Errorf("rule for %s allows %s, which has no rule", r.dir, own)
				continue
			}
			if target.layer >= r.layer {
				t.Errorf("rule for %s (layer %d) allows %s (layer %d): imports run downward only", r.dir, r.layer, own, target.layer)
			}
		}
		name := strings.TrimSuffix(r.dir, "/...")
		for _, door := range doors {
			if slices.Contains(doors, name) && name != door && within(door, r.own) {
				t.Errorf("rule for %s allows the door %s: %s", r.dir, door, doorReason)
			}
		}
		for _, own := range r.own {
			if own == "cmd" || strings.HasPrefix(own, "cmd/") {
				t.Errorf("rule for %s allows %s: nothing imports cmd", r.dir, own)
			}
		}
	}
}

// TestNoRedisInPool follows imports to their end, where the table looks one step far.
func TestNoRedisInPool(t *testing.T) {
	tr := loadTree(t)
	packages := tr.packages()
	for _, start := range knowsNoRedis {
		seen := map[string]bool{}
		var visit func(dir string, trail []string)
		visit = func(dir string, trail []string) {
			if seen[dir] {
				return
			}
			seen[dir] = true
			trail = append(trail, dir)
			if slices.Contains(redisPackages, dir) {
				t.Errorf("%s reaches Redis: %s", start, strings.Join(trail, " -> "))
				return
			}
			for _, f := range packages[dir] {
				for _, imported := range f.imports(t) {
					if own, ok := ownDir(imported); ok {
						visit(own, trail)
					}
				}
			}
		}
		visit(start, nil)
	}
}
