package misuse

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/internal/exportdata"
)

// root is the repository, seen from this package.
const root = "../.."

func TestMisuse(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases in testdata: %v", err)
	}
	cases := make([]*program, 0, len(files))
	var imports []string
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(file, string(src))
		if err != nil {
			t.Fatal(err)
		}
		cases = append(cases, p)
		imports = append(imports, p.imports()...)
	}
	set := loadSet(t, imports)
	for _, p := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(p.name), ".go"), func(t *testing.T) {
			t.Parallel()
			for _, f := range p.check(set) {
				t.Error(f)
			}
		})
	}
}

func loadSet(t *testing.T, imports []string) *exportdata.Set {
	t.Helper()
	slices.Sort(imports)
	set, err := exportdata.Load(t.Context(), root, slices.Compact(imports)...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// A program is a case: a parsed file and what its lines are wanted to say.
type program struct {
	name string
	fset *token.FileSet
	file *ast.File
	want map[int][]string // by line
}

func parse(name, src string) (*program, error) {
	p := &program{name: name, fset: token.NewFileSet(), want: map[int][]string{}}
	var err error
	p.file, err = parser.ParseFile(p.fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, fmt.Errorf("parse: %w", err)
	}
	for _, group := range p.file.Comments {
		for _, c := range group.List {
			text, ok := strings.CutPrefix(c.Text, "// want ")
			if !ok {
				continue
			}
			texts, err := quoted(text)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.fset.Position(c.Pos()), err)
			}
			p.want[p.fset.Position(c.Pos()).Line] = texts
		}
	}
	if len(p.want) == 0 {
		return nil, fmt.Errorf("%s: wants nothing", name)
	}
	return p, nil
}

// quoted returns the Go strings of a text that has nothing else.
func quoted(text string) ([]string, error) {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(text)), []byte(text), nil, 0)
	var all []string
	for {
		_, tok, lit := s.Scan()
		switch tok {
		case token.STRING:
			u, err := strconv.Unquote(lit)
			if err != nil {
				return nil, fmt.Errorf("unquote %s: %w", lit, err)
			}
			all = append(all, u)
		case token.SEMICOLON:
		case token.EOF:
			return all, nil
		default:
			return nil, fmt.Errorf("want %s: only strings are understood", text)
		}
	}
}

func (p *program) imports() []string {
	var paths []string
	for _, s := range p.file.Imports {
		paths = append(paths, strings.Trim(s.Path.Value, "\""))
	}
	return paths
}

// check type-checks the program and returns what is wrong with its messages.
func (p *program) check(set *exportdata.Set) []string {
	said := map[int][]string{}
	config := types.Config{
		Importer: set.Importer(p.fset),
		Error: func(err error) {
			if e, ok := err.(types.Error); ok { //nolint:errorlint // the checker hands it over unwrapped.
				line := e.Fset.Position(e.Pos).Line
				said[line] = append(said[line], e.Msg)
			}
		},
	}
	// The messages come one by one through config.Error; the result repeats the first.
	_, _ = config.Check(p.name, p.fset, []*ast.File{p.file}, nil)
	return compare(p.name, p.want, said)
}

func compare(name string, want, said map[int][]string) []string {
	var found []string
	for line, texts := range want {
		for _, text := range texts {
			if !slices.ContainsFunc(said[line], func(msg string) bool { return strings.Contains(msg, text) }) {
				found = append(found, fmt.Sprintf("%s:%d: wants %q, the compiler says %q", name, line, text, said[line]))
			}
		}
	}
	for line, msgs := range said {
		for _, msg := range msgs {
			if !slices.ContainsFunc(want[line], func(text string) bool { return strings.Contains(msg, text) }) {
				found = append(found, fmt.Sprintf("%s:%d: nobody wants %q", name, line, msg))
			}
		}
	}
	slices.Sort(found)
	return found
}

// TestHarness shows that a case which compiles, or which fails for another reason than it says, is a failure.
func TestHarness(t *testing.T) {
	t.Parallel()
	set := loadSet(t, []string{"errors"})
	cases := []struct{ name, src, want string }{
		{"as wanted", "package p\n\nvar x int = \"\" // want \"cannot use\" \"as int value\"\n", ""},
		{"compiles", "package p\n\nvar x int // want \"cannot use\"\n", "wants \"cannot use\", the compiler says []"},
		{"says something else", "package p\n\nvar x int = \"\" // want \"missing method\"\n", "wants \"missing method\""},
		{"says more", "package p\n\nvar x int = \"\" // want \"cannot use\"\n\nvar y int = \"\"\n", "c.go:5: nobody wants"},
		{"on another line", "package p\n\n// want \"cannot use\"\nvar x int = \"\"\n", "c.go:3: wants"},
		{"known import", "package p\n\nimport \"errors\"\n\nvar x int = errors.ErrUnsupported // want \"cannot use\"\n", ""},
		{"unknown import", "package p\n\nimport \"net\"\n\nvar x net.Addr = 1 // want \"cannot use\"\n", "c.go:3: nobody wants \"could not import net"},
	}
	for _, c := range cases {
		p, err := parse("c.go", c.src)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		got := strings.Join(p.check(set), "\n")
		if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
	for _, src := range []string{"package p\n", "package p\n\nvar x = 1 // want something\n", "package\n"} {
		if _, err := parse("c.go", src); err == nil {
			t.Errorf("%q is taken for a case", src)
		}
	}
}
