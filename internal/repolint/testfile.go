package repolint

import (
	"go/ast"
	"slices"
)

func sleepingTests(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if !f.Test || f.Imports("testing/synctest") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
				if x, ok := s.X.(*ast.Ident); ok && x.Name == "time" {
					found = append(found, t.at(n.Pos(), "time.Sleep in a file without testing/synctest"))
				}
			}
			return true
		})
	}
	return found
}

// skips are the methods of a test that end it without a verdict.
var skips = []string{"Skip", "Skipf", "SkipNow"}

func skippedTests(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if !f.Imports("testing") {
			continue
		}
		tests := testNames(f.AST)
		ast.Inspect(f.AST, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			s, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(skips, s.Sel.Name) {
				return true
			}
			if x, ok := s.X.(*ast.Ident); ok && slices.Contains(tests, x.Name) {
				found = append(found, t.at(n.Pos(), "%s.%s", x.Name, s.Sel.Name))
			}
			return true
		})
	}
	return found
}

// testNames returns the names that the file's parameters of package testing go by: t, b, tb.
func testNames(file *ast.File) []string {
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok {
			return true
		}
		expr := field.Type
		if star, ok := expr.(*ast.StarExpr); ok {
			expr = star.X
		}
		if s, ok := expr.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "testing" {
				for _, name := range field.Names {
					names = append(names, name.Name)
				}
			}
		}
		return true
	})
	return names
}
