package repolint

import (
	"go/ast"
	"go/types"
	"maps"
	"slices"
)

func sleepingTests(t *Tree) []string {
	bubbles := t.bubbles()
	var found []string
	for _, f := range t.Go {
		if !f.Test || f.Imports("testing/synctest") || callsAny(f.AST, bubbles[f.Dir]) {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
					found = append(found, t.at(n.Pos(), "time.Sleep in a file that has no synctest bubble"))
				}
			}
			return true
		})
	}
	return found
}

// bubbles returns, by folder, the functions of test files that run what they are given in a bubble.
func (t *Tree) bubbles() map[string][]string {
	names := map[string][]string{}
	for _, f := range t.Go {
		if !f.Test || !f.Imports("testing/synctest") {
			continue
		}
		for _, decl := range f.AST.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if ok && d.Recv == nil && d.Body != nil && takesFunc(d.Type) && callsAny(d.Body, []string{"synctest.Test"}) {
				names[f.Dir] = append(names[f.Dir], d.Name.Name)
			}
		}
	}
	return names
}

// takesFunc reports whether a parameter is a function.
func takesFunc(f *ast.FuncType) bool {
	return slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool {
		_, ok := p.Type.(*ast.FuncType)
		return ok
	})
}

// callsAny reports whether a function of one of the names is called below a node.
func callsAny(root ast.Node, names []string) bool {
	calls := false
	ast.Inspect(root, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			calls = calls || slices.Contains(names, types.ExprString(call.Fun))
		}
		return !calls
	})
	return calls
}

// skips are the methods of a test that end it without a verdict.
var skips = []string{"Skip", "Skipf", "SkipNow"}

func skippedTests(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if !f.Imports("testing") {
			continue
		}
		for _, decl := range f.AST.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Body != nil {
				found = append(found, t.skippedIn(d.Body, named(nil, d.Type))...)
				continue
			}
			found = append(found, t.skippedIn(decl, nil)...)
		}
	}
	return found
}

// skippedIn finds calls of skips below a node. tests has the names in scope that are of package testing.
func (t *Tree) skippedIn(root ast.Node, tests map[string]bool) []string {
	var found []string
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			found = append(found, t.skippedIn(n.Body, named(tests, n.Type))...)
			return false
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(skips, s.Sel.Name) {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && tests[x.Name] {
				found = append(found, t.at(n.Pos(), "%s.%s", x.Name, s.Sel.Name))
			}
		}
		return true
	})
	return found
}

// named returns the names of outer and those of a function's parameters, each with whether it is of package testing.
func named(outer map[string]bool, f *ast.FuncType) map[string]bool {
	names := map[string]bool{}
	maps.Copy(names, outer)
	for _, field := range f.Params.List {
		expr := field.Type
		if star, ok := expr.(*ast.StarExpr); ok {
			expr = star.X
		}
		s, ok := expr.(*ast.SelectorExpr)
		if ok {
			x, isName := s.X.(*ast.Ident)
			ok = isName && x.Name == "testing"
		}
		for _, name := range field.Names {
			names[name.Name] = ok
		}
	}
	return names
}
