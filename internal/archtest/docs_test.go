package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const minDocSentences = 3

var (
	sentenceEnd  = regexp.MustCompile(`[.!?]['")]*(\s|$)`)
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	makeTarget   = regexp.MustCompile(`(?m)^\.PHONY: ([a-z-]+)$`)
	unfinished   = regexp.MustCompile(`\b(TODO|FIXME|XXX)\b`)
)

// TestPackageDocs: whoever opens a package meets its purpose, its limits and a place to start, in doc.go.
func TestPackageDocs(t *testing.T) {
	for dir, files := range loadTree(t).packages() {
		isMain, doc, at := false, "", ""
		for _, f := range files {
			isMain = isMain || f.ast.Name.Name == "main"
			if f.ast.Doc == nil {
				continue
			}
			if text := f.ast.Doc.Text(); len(text) > len(doc) {
				doc, at = text, f.path
			}
		}
		sentences := len(sentenceEnd.FindAllString(doc, -1))
		switch {
		case sentences == 0:
			t.Errorf("package %s has no package comment", dir)
		case isMain:
		case sentences < minDocSentences:
			t.Errorf("%s: package comment has %d sentences, want at least %d: what it is for, what it never does, where to start reading", at, sentences, minDocSentences)
		case filepath.Base(at) != "doc.go":
			t.Errorf("%s: the package comment belongs in doc.go", at)
		}
	}
}

func TestNothingLeftUnfinished(t *testing.T) {
	tr := loadTree(t)
	for _, f := range tr.files {
		if f.dir == "internal/archtest" {
			continue // names the words it looks for
		}
		for _, group := range f.ast.Comments {
			if word := unfinished.FindString(group.Text()); word != "" {
				t.Errorf("%s: comment says %s: finish it, or file an issue", tr.fset.Position(group.Pos()), word)
			}
		}
	}
}

// TestNolintHasReason keeps exceptions from the linters explained, for builds where the linters do not run.
func TestNolintHasReason(t *testing.T) {
	reasoned := regexp.MustCompile(`^//nolint:[a-z,]+ // \S`)
	tr := loadTree(t)
	for _, f := range tr.files {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, "//nolint") && !reasoned.MatchString(c.Text) {
					t.Errorf("%s: write //nolint:NAME // reason", tr.fset.Position(c.Pos()))
				}
			}
		}
	}
}

// TestMarkdownLinks: a relative link in the documentation leads somewhere.
func TestMarkdownLinks(t *testing.T) {
	root := loadTree(t).root
	walk := func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); full != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(full) != ".md" {
			return nil
		}
		text, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		for _, match := range markdownLink.FindAllStringSubmatch(string(text), -1) {
			target, _, _ := strings.Cut(match[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue // within the page, or elsewhere
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(full), filepath.FromSlash(target))); err != nil {
				t.Errorf("%s links to %s: %v", full, target, err)
			}
		}
		return nil
	}
	if err := filepath.WalkDir(root, walk); err != nil {
		t.Fatal(err)
	}
}

// TestMakeHelp: `make help` lists every target, with a line that says what it does.
func TestMakeHelp(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(loadTree(t).root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := makeTarget.FindAllStringSubmatch(string(makefile), -1)
	if len(targets) == 0 {
		t.Fatal("no target found")
	}
	for _, target := range targets {
		if !regexp.MustCompile(`(?m)^` + target[1] + `:.*## \S`).Match(makefile) {
			t.Errorf("make target %s has no '## ' text", target[1])
		}
	}
}
