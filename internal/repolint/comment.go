package repolint

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

func packageComments(t *Tree) []string {
	type pkg struct {
		first     *GoFile
		commented bool
	}
	packages := map[string]*pkg{}
	var dirs []string
	for _, f := range t.Go {
		p := packages[f.Dir]
		if p == nil {
			p = &pkg{first: f}
			packages[f.Dir] = p
			dirs = append(dirs, f.Dir)
		}
		// The comment of a package is in the package itself, unless it has nothing but tests.
		if f.AST.Doc != nil && (!f.Test || p.first.Test) {
			p.commented = true
		}
		if p.first.Test && !f.Test {
			p.first, p.commented = f, f.AST.Doc != nil
		}
	}
	var found []string
	for _, dir := range dirs {
		if p := packages[dir]; !p.commented {
			found = append(found, t.at(p.first.AST.Package, "package %s of %s has no comment", p.first.AST.Name.Name, dir))
		}
	}
	return found
}

func exportedComments(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if f.Test || f.AST.Name.Name == "main" {
			continue
		}
		for _, decl := range f.AST.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiverName(d))) && !opensWith(d.Doc, d.Name.Name) {
					found = append(found, t.at(d.Pos(), "%s has no comment that begins with its name", d.Name.Name))
				}
			case *ast.GenDecl:
				for _, name := range undocumented(d) {
					found = append(found, t.at(name.Pos(), "%s has no comment that begins with its name", name.Name))
				}
			}
		}
	}
	return found
}

// receiverName returns the name of a method's type.
func receiverName(d *ast.FuncDecl) string {
	expr := d.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name
		default:
			return ""
		}
	}
}

// undocumented returns the exported names of a declaration that have no comment of their own. Constants and variables
// of a group may share the group's, or that of the first of a run.
func undocumented(d *ast.GenDecl) []*ast.Ident {
	var names []*ast.Ident
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			doc := s.Doc
			if doc == nil && !d.Lparen.IsValid() {
				doc = d.Doc
			}
			if s.Name.IsExported() && !opensWith(doc, s.Name.Name) {
				names = append(names, s.Name)
			}
		case *ast.ValueSpec:
			if s.Doc != nil || s.Comment != nil || d.Doc != nil {
				continue
			}
			for _, n := range s.Names {
				if n.IsExported() {
					names = append(names, n)
				}
			}
		}
	}
	return names
}

// opensWith reports whether a comment's first sentence begins with the name, with or without an article.
func opensWith(doc *ast.CommentGroup, name string) bool {
	words := strings.Fields(doc.Text())
	if len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
		words = words[1:]
	}
	return len(words) > 0 && strings.TrimSuffix(strings.TrimRight(words[0], ",.:;"), "'s") == name
}

func packageState(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if f.Test {
			continue
		}
		for _, decl := range f.AST.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok != token.VAR {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncLit:
					// What a function makes when it is called belongs to its caller.
					return false
				case *ast.ChanType:
					found = append(found, t.at(n.Pos(), "a channel of the package"))
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(clocks, n.Sel.Name) {
						found = append(found, t.at(n.Pos(), "time.%s of the package", n.Sel.Name))
					}
				}
				return true
			})
		}
	}
	return found
}

// clocks are the names of package time that start or hold a clock.
var clocks = []string{"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Tick", "Ticker", "Timer"}
