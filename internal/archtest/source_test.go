package archtest

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
	"testing"
)

const (
	goodLines = 500 // above: two nouns in one file, worth a look
	maxLines  = 600 // above: the test fails
)

func TestFileLength(t *testing.T) {
	for _, f := range loadTree(t).files {
		if f.test || f.generated() {
			continue
		}
		switch {
		case f.lines > maxLines:
			t.Errorf("%s has %d lines, more than %d: it holds two nouns, make it two files", f.path, f.lines, maxLines)
		case f.lines > goodLines:
			t.Logf("%s has %d lines, more than %d: soon it will hold two nouns", f.path, f.lines, goodLines)
		}
	}
}

func TestNoInitFunctions(t *testing.T) {
	for _, f := range loadTree(t).files {
		if f.test || f.generated() || f.ast.Name.Name == "main" {
			continue
		}
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s has an init function: importing a package must do nothing", f.path)
			}
		}
	}
}

// stateless are the types of package sync that hold nothing a caller could observe: recycled memory, and values computed once.
var stateless = []string{"Pool", "OnceFunc", "OnceValue", "OnceValues"}

// TestNoPackageState finds package-level variables that can only be there to change: those without a value, and those that are locks, atomics,
// channels or caches.
func TestNoPackageState(t *testing.T) {
	used := map[string]bool{}
	for _, f := range loadTree(t).files {
		if f.test || f.nested || f.generated() {
			continue
		}
		for _, decl := range f.ast.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				value, ok := spec.(*ast.ValueSpec)
				if !ok || embedded(gen.Doc) || embedded(value.Doc) {
					continue
				}
				why := mutable(value)
				if why == "" {
					continue
				}
				for _, name := range value.Names {
					key := f.dir + ":" + name.Name
					if packageState[key] != "" {
						used[key] = true
						continue
					}
					t.Errorf("%s: package-level variable %s %s: state belongs to a value that somebody owns", f.path, name.Name, why)
				}
			}
		}
	}
	for key := range used {
		t.Logf("package-level state by design: %s (%s)", key, packageState[key])
	}
}

// mutable says why a variable looks like state, or "" when it does not.
func mutable(spec *ast.ValueSpec) string {
	if slices.ContainsFunc(spec.Names, func(name *ast.Ident) bool { return name.Name == "_" }) {
		return ""
	}
	if len(spec.Values) == 0 {
		return "has no value, so it is there to be assigned"
	}
	why := ""
	inspect := func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.FuncLit:
			return false // what a function uses while it runs is its own
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && (pkg.Name == "atomic" || pkg.Name == "sync" && !slices.Contains(stateless, n.Sel.Name)) {
				why = "uses " + pkg.Name + "." + n.Sel.Name
			}
		case *ast.CallExpr:
			if fun, ok := n.Fun.(*ast.Ident); ok && fun.Name == "make" {
				why = "is made empty, so it is there to be filled"
			}
		}
		return true
	}
	if spec.Type != nil {
		ast.Inspect(spec.Type, inspect)
	}
	for _, value := range spec.Values {
		ast.Inspect(value, inspect)
	}
	return why
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// TestNoSkippedTests: a test that cannot run fails and says what is missing; a skipped one only looks green.
func TestNoSkippedTests(t *testing.T) {
	tr := loadTree(t)
	for _, f := range tr.files {
		if !f.test {
			continue
		}
		ast.Inspect(f.ast, func(node ast.Node) bool {
			sel, ok := node.(*ast.SelectorExpr)
			if !ok || !slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, sel.Sel.Name) {
				return true
			}
			if recv, ok := sel.X.(*ast.Ident); ok && slices.Contains([]string{"t", "tb", "b", "f", "testing"}, recv.Name) {
				t.Errorf("%s: %s.%s: tests are never skipped", tr.fset.Position(sel.Pos()), recv.Name, sel.Sel.Name)
			}
			return true
		})
	}
}

// TestNoSleepInTests: a test waits for an event, or lets virtual time pass. Inside a bubble time.Sleep is how virtual time passes, so it is allowed there: in
// what is given to synctest.Test or to a function of the package that calls it, and in helper functions of a file that imports testing/synctest.
func TestNoSleepInTests(t *testing.T) {
	tr := loadTree(t)
	makers := bubbleMakers(tr)
	for _, f := range tr.files {
		if !f.test {
			continue
		}
		virtual := slices.Contains(f.imports(t), "testing/synctest")
		for _, decl := range f.ast.Decls {
			fn, isFunc := decl.(*ast.FuncDecl)
			helper := isFunc && !isTestFunc(fn)
			ast.Inspect(decl, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				if !ok {
					return true
				}
				if name, ok := call.Fun.(*ast.Ident); ok && makers[f.dir+":"+name.Name] || selects(call.Fun, "synctest", "Test") {
					return false
				}
				if selects(call.Fun, "time", "Sleep") && (!virtual || !helper) {
					t.Errorf("%s: time.Sleep in real time: wait for an event, or use testing/synctest", tr.fset.Position(call.Pos()))
				}
				return true
			})
		}
	}
}

// bubbleMakers finds the test helpers that call synctest.Test themselves, each as "dir:name".
func bubbleMakers(tr *tree) map[string]bool {
	makers := map[string]bool{}
	for _, f := range tr.files {
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !f.test || !ok || isTestFunc(fn) {
				continue
			}
			ast.Inspect(fn, func(node ast.Node) bool {
				if call, ok := node.(*ast.CallExpr); ok && selects(call.Fun, "synctest", "Test") {
					makers[f.dir+":"+fn.Name.Name] = true
				}
				return true
			})
		}
	}
	return makers
}

func isTestFunc(fn *ast.FuncDecl) bool {
	name := fn.Name.Name
	return fn.Recv == nil && slices.ContainsFunc([]string{"Test", "Benchmark", "Fuzz", "Example"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func selects(expr ast.Expr, pkg, name string) bool {
	sel, ok := expr.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != name {
		return false
	}
	ident, ok := sel.X.(*ast.Ident)
	return ok && ident.Name == pkg
}
