package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/evenkeel-go/evenkeel"

// file is one parsed Go file.
type file struct {
	path   string // slash-separated, relative to the module root
	dir    string // package directory, relative; "." is the root package
	test   bool   // name ends in _test.go
	nested bool   // belongs to a module of its own below the root
	lines  int
	src    []byte
	ast    *ast.File
}

func (f *file) generated() bool { return ast.IsGenerated(f.ast) }

// imports lists the import paths of f, unquoted.
func (f *file) imports(t *testing.T) []string {
	t.Helper()
	paths := make([]string, 0, len(f.ast.Imports))
	for _, spec := range f.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: import %s: %v", f.path, spec.Path.Value, err)
		}
		paths = append(paths, p)
	}
	return paths
}

// tree is every Go file of the repository.
type tree struct {
	root  string
	fset  *token.FileSet
	files []*file
}

// loadTree parses the repository. Directories that Go itself ignores, tool binaries and test data are left out.
func loadTree(t *testing.T) *tree {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("module root: %v", err)
	}
	tr := &tree{root: root, fset: token.NewFileSet()}
	nestedRoots := map[string]bool{}
	walk := func(full string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, full)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() {
			base := entry.Name()
			if rel != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "bin" || base == "testdata" || base == "vendor") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(full, "go.mod")); err == nil && rel != "." || nestedRoots[path.Dir(rel)] {
				nestedRoots[rel] = true
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		src, err := os.ReadFile(full)
		if err != nil {
			return err
		}
		parsed, err := parser.ParseFile(tr.fset, rel, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		tr.files = append(tr.files, &file{
			path:   rel,
			dir:    path.Dir(rel),
			test:   strings.HasSuffix(rel, "_test.go"),
			nested: nestedRoots[path.Dir(rel)],
			lines:  strings.Count(string(src), "\n"),
			src:    src,
			ast:    parsed,
		})
		return nil
	}
	if err := filepath.WalkDir(root, walk); err != nil {
		t.Fatal(err)
	}
	if len(tr.files) == 0 {
		t.Fatal("no Go file found")
	}
	return tr
}

// packages groups this module's own non-test files by directory.
func (tr *tree) packages() map[string][]*file {
	out := map[string][]*file{}
	for _, f := range tr.files {
		if !f.test && !f.nested {
			out[f.dir] = append(out[f.dir], f)
		}
	}
	return out
}

// isStdlib reports whether an import path belongs to the standard library: the first element of any other has a dot.
func isStdlib(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// ownDir gives the directory of one of this module's packages, and false for any other import path.
func ownDir(importPath string) (string, bool) {
	if importPath == modulePath {
		return ".", true
	}
	return strings.CutPrefix(importPath, modulePath+"/")
}

// within reports whether dir is one of the listed directories or lies below one that ends in "/...".
func within(dir string, list []string) bool {
	for _, entry := range list {
		if below, ok := strings.CutSuffix(entry, "/..."); ok {
			if dir == below || strings.HasPrefix(dir, below+"/") {
				return true
			}
		} else if dir == entry {
			return true
		}
	}
	return false
}

// hasModule reports whether an import path belongs to one of the listed modules.
func hasModule(importPath string, modules []string) bool {
	for _, module := range modules {
		if importPath == module || strings.HasPrefix(importPath, module+"/") {
			return true
		}
	}
	return false
}
