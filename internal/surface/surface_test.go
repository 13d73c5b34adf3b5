package surface_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/internal/exportdata"
	"github.com/wherryhq/wherry/internal/surface"
)

var rewrite = flag.Bool("rewrite", false, "write the text instead of comparing it")

// file is the committed text, from this package.
const file = "../../api/wherry.txt"

// TestSurface compares what the root module exports with the committed text.
func TestSurface(t *testing.T) {
	t.Parallel()
	set, err := exportdata.Load(t.Context(), "../..", "./...")
	if err != nil {
		t.Fatal(err)
	}
	imp := set.Importer(token.NewFileSet())
	var text strings.Builder
	for _, path := range slices.Sorted(slices.Values(set.Packages)) {
		if strings.Contains(path, "/internal/") {
			continue
		}
		pkg, err := imp.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		lines := surface.Lines(pkg)
		if len(lines) == 0 {
			continue
		}
		text.WriteString("package " + path + "\n\n")
		for _, l := range lines {
			text.WriteString(l + "\n")
		}
		text.WriteString("\n")
	}
	got := strings.TrimSuffix(text.String(), "\n")
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range difference(string(committed), got) {
		t.Error(d)
	}
	if t.Failed() {
		t.Log("where the change is meant, `make api` writes it down; it belongs into CHANGELOG.md too")
	}
}

// difference returns the lines that only one of two texts has, with the package that they belong to.
func difference(old, updated string) []string {
	before, after := qualified(old), qualified(updated)
	var found []string
	for _, l := range before {
		if !slices.Contains(after, l) {
			found = append(found, "removed: "+l)
		}
	}
	for _, l := range after {
		if !slices.Contains(before, l) {
			found = append(found, "added: "+l)
		}
	}
	if len(found) == 0 && old != updated {
		found = append(found, "the texts differ in their order or their empty lines")
	}
	return found
}

func qualified(text string) []string {
	var lines []string
	pkg := ""
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if name, ok := strings.CutPrefix(l, "package "); ok {
			pkg = name
			continue
		}
		if l != "" {
			lines = append(lines, pkg+": "+l)
		}
	}
	return lines
}

func TestDifference(t *testing.T) {
	t.Parallel()
	const old = "package a\n\nfunc F()\nfunc G()\n\npackage b\n\nfunc F()\n"
	cases := []struct{ name, updated, want string }{
		{"same", old, ""},
		{"added", old + "func H()\n", "added: b: func H()"},
		{"removed", "package a\n\nfunc F()\n\npackage b\n\nfunc F()\n", "removed: a: func G()"},
		{"moved", "package a\n\nfunc G()\nfunc F()\n\npackage b\n\nfunc F()\n", "the texts differ in their order or their empty lines"},
		{"package", "package a\n\nfunc F()\nfunc G()\n", "removed: b: func F()"},
	}
	for _, c := range cases {
		if got := strings.Join(difference(old, c.updated), "; "); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	const src = `package p

const (
	C     = 1
	S     = "s"
	small = 2
)

type K uint8

const First K = 0

var V []K

func F[T any, U ~int](a T, b ...U) (ok bool, err error) { return }

func hidden() {}

type T struct {
	A      int
	B, c   string
	Nested *T
}

func (t *T) M(x int) K     { return 0 }
func (T) N()               {}
func (*T) unexported()     {}
func (hiddenType) Visible() {}

type hiddenType struct{}

type G[X comparable] struct{ V X }

func (g *G[X]) Get() X { return g.V }

type I interface {
	K
	Do(a int) error
}

type K2 interface {
	~int | ~string
}

type Open interface{ Do() }

type Sealed interface {
	Do()
	seal()
}

type Fn func(a int) error

type A = map[string]T
`
	want := []string{
		`const C untyped int = 1`,
		`const First K = 0`,
		`const S untyped string = "s"`,
		`field G.V X`,
		`field T.A int`,
		`field T.B string`,
		`field T.Nested *T`,
		`func F[T any, U ~int](a T, b ...U) (ok bool, err error)`,
		`method (*G[X]) Get() X`,
		`method (*T) M(x int) K`,
		`method (T) N()`,
		`method I.Do(a int) error`,
		`method Open.Do()`,
		`method Sealed.Do()`,
		`type A = map[string]T`,
		`type Fn func(a int) error`,
		`type G[X comparable] struct`,
		`type I interface, constraint`,
		`type K uint8`,
		`type K2 interface, constraint`,
		`type Open interface`,
		`type Sealed interface, sealed`,
		`type T struct`,
		`var V []K`,
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	pkg, err := new(types.Config).Check("p", fset, []*ast.File{f}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := surface.Lines(pkg)
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
