package repolint

import (
	"go/ast"
	"path"
	"strings"
)

// examplesComplete looks for each exported function of the root package in the examples beside it.
func examplesComplete(t *Tree) []string {
	shown := map[string]bool{}
	for _, f := range t.Go {
		if f.Dir != "." || !f.Test || !strings.Contains(path.Base(f.Path), "example_") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				shown[s.Sel.Name] = true
			}
			return true
		})
	}
	var found []string
	for _, f := range t.Go {
		if f.Dir != "." || f.Test {
			continue
		}
		for _, decl := range f.AST.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.IsExported() && !shown[d.Name.Name] {
				found = append(found, t.at(d.Pos(), "no example shows %s", d.Name.Name))
			}
		}
	}
	return found
}
