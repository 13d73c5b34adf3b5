package repolint

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"
)

var (
	// declared is a backticked name and the file that declares it: `worker.go: next`, `worker.go: worker.next`.
	declared = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.go): ([A-Za-z_][A-Za-z0-9_.]*)`")
	// testName is a backticked test, fuzz target, benchmark or example, with or without a sub-test.
	testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z0-9_][A-Za-z0-9_]*)(?:/[^`]*)?`")
)

func docNames(t *Tree) []string {
	var found []string
	for _, doc := range t.documents() {
		for n, line := range outsideFences(t.Text[doc]) {
			for _, m := range declared.FindAllStringSubmatch(line, -1) {
				i := slices.IndexFunc(t.Go, func(f *GoFile) bool { return f.Path == m[1] })
				switch {
				case i < 0:
					found = append(found, fmt.Sprintf("%s:%d: there is no file %s", doc, n, m[1]))
				case !slices.Contains(declarations(t.Go[i].AST), m[2]):
					found = append(found, fmt.Sprintf("%s:%d: %s does not declare %s", doc, n, m[1], m[2]))
				}
			}
		}
	}
	return found
}

// declarations lists what a file declares: functions, methods with and without their type, types with their fields and
// methods, constants and variables.
func declarations(file *ast.File) []string {
	var names []string
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, d.Name.Name)
			if d.Recv != nil {
				names = append(names, receiverName(d)+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch s := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, s.Name.Name)
					names = append(names, members(s)...)
				case *ast.ValueSpec:
					for _, n := range s.Names {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

// members lists the fields of a struct, or the methods of an interface, with the name of their type.
func members(s *ast.TypeSpec) []string {
	var list *ast.FieldList
	switch typ := s.Type.(type) {
	case *ast.StructType:
		list = typ.Fields
	case *ast.InterfaceType:
		list = typ.Methods
	default:
		return nil
	}
	var names []string
	for _, field := range list.List {
		for _, n := range field.Names {
			names = append(names, s.Name.Name+"."+n.Name)
		}
	}
	return names
}

func docTests(t *Tree) []string {
	tests := map[string]bool{}
	for _, f := range t.Go {
		if !f.Test {
			continue
		}
		for _, decl := range f.AST.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil {
				tests[d.Name.Name] = true
			}
		}
	}
	var found []string
	for _, doc := range t.documents() {
		for n, line := range outsideFences(t.Text[doc]) {
			for _, m := range testName.FindAllStringSubmatch(line, -1) {
				if !tests[m[1]] {
					found = append(found, fmt.Sprintf("%s:%d: there is no test %s", doc, n, m[1]))
				}
			}
		}
	}
	return found
}

func docSnippets(t *Tree) []string {
	sources := make([]string, 0, len(t.Go))
	for _, f := range t.Go {
		sources = append(sources, "\n"+unindented(t.Text[f.Path])+"\n")
	}
	var found []string
	for _, doc := range t.documents() {
		for n, block := range goBlocks(t.Text[doc]) {
			code := strings.Trim(unindented(block), "\n")
			compiled := slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(s, "\n"+code+"\n") })
			if code == "" || !compiled {
				found = append(found, fmt.Sprintf("%s:%d: no Go file has this code as it stands", doc, n))
			}
		}
	}
	return found
}

// goBlocks yields the fenced Go code of a Markdown text, each with the line of its fence.
func goBlocks(text string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		var block strings.Builder
		n, begin, fence := 0, 0, ""
		for line := range strings.Lines(text) {
			n++
			mark := strings.TrimSpace(line)
			switch {
			case fence == "" && strings.HasPrefix(mark, "```"):
				fence, begin = mark, n
				block.Reset()
			case fence != "" && mark == "```":
				if lang, _, _ := strings.Cut(fence[3:], " "); lang == "go" && !yield(begin, block.String()) {
					return
				}
				fence = ""
			default:
				block.WriteString(line)
			}
		}
	}
}

// unindented returns a text without the spaces and tabs around its lines.
func unindented(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, "\n")
}
