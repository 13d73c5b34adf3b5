package repolint

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// tools is the folder of the module that pins the developers' tools. It is no part of the workspace, whose versions it
// would otherwise decide.
const tools = "tools"

func rootRequiresNothing(t *Tree) []string {
	root, ok := t.Modules["."]
	if !ok {
		return []string{"go.mod: there is none"}
	}
	var found []string
	for _, r := range root.Require {
		found = append(found, "go.mod: requires "+r)
	}
	return found
}

// foreign returns the packages of a list that are neither of the standard library nor of the module. It is for
// the output of go list as well as for a file's imports.
func foreign(module string, packages []string) []string {
	var found []string
	for _, p := range packages {
		first, _, _ := strings.Cut(p, "/")
		own := p == module || strings.HasPrefix(p, module+"/")
		if strings.Contains(first, ".") && !own {
			found = append(found, p)
		}
	}
	return found
}

func rootImportsStd(t *Tree) []string {
	root, ok := t.Modules["."]
	if !ok {
		return []string{"go.mod: there is none"}
	}
	var found []string
	for _, f := range t.Go {
		if f.Module != "." {
			continue
		}
		for _, p := range foreign(root.Module, f.ImportPaths()) {
			found = append(found, f.Path+": imports "+p)
		}
		for _, p := range f.ImportPaths() {
			dir, own := t.dirOf(p)
			if own && t.moduleOf(dir) != "." {
				found = append(found, f.Path+": imports "+p+", which is of another module")
			}
		}
	}
	return found
}

// dirOf returns the folder of a package of this repository.
func (t *Tree) dirOf(pkg string) (dir string, own bool) {
	root, ok := t.Modules["."]
	if !ok {
		return "", false
	}
	if pkg == root.Module {
		return ".", true
	}
	return strings.CutPrefix(pkg, root.Module+"/")
}

func noInternalOutside(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if f.Module == "." {
			continue
		}
		for _, p := range f.ImportPaths() {
			dir, own := t.dirOf(p)
			if own && strings.HasPrefix(dir, "internal/") {
				found = append(found, f.Path+": imports "+p)
			}
		}
	}
	return found
}

func workspaceComplete(t *Tree) []string {
	var found []string
	for dir := range t.Modules {
		if dir != tools && !slices.Contains(t.Work.Use, dir) {
			found = append(found, fmt.Sprintf("go.work: does not use %s, which has a go.mod", dir))
		}
	}
	for _, dir := range t.Work.Use {
		if _, ok := t.Modules[dir]; !ok {
			found = append(found, fmt.Sprintf("go.work: uses %s, which has no go.mod", dir))
		}
	}
	slices.Sort(found)
	return found
}

func goDirectiveEqual(t *Tree) []string {
	root, ok := t.Modules["."]
	if !ok {
		return []string{"go.mod: there is none"}
	}
	var found []string
	for dir, m := range t.Modules {
		if m.Go != root.Go {
			found = append(found, fmt.Sprintf("%s: go %s, the root has %s", path.Join(dir, "go.mod"), m.Go, root.Go))
		}
	}
	if t.Work.Go != root.Go {
		found = append(found, fmt.Sprintf("go.work: go %s, the root has %s", t.Work.Go, root.Go))
	}
	slices.Sort(found)
	return found
}

func replaceSiblings(t *Tree) []string {
	var found []string
	for dir, m := range t.Modules {
		for _, r := range m.Require {
			sibling, own := t.dirOf(r)
			if !own {
				continue
			}
			want, err := filepath.Rel(dir, sibling)
			if err != nil {
				found = append(found, fmt.Sprintf("%s: %v", dir, err))
				continue
			}
			want = filepath.ToSlash(want)
			if got := m.Replace[r]; path.Clean(got) != want {
				found = append(found, fmt.Sprintf("%s: wants `replace %s => %s`, has %q", path.Join(dir, "go.mod"), r, want, got))
			}
		}
	}
	slices.Sort(found)
	return found
}

// design is the document with the table of modules.
const design = "docs/DESIGN.md"

func moduleTable(t *Tree) []string {
	text, ok := t.Text[design]
	if !ok {
		return []string{design + ": there is none"}
	}
	rows := tableUnder(text, "Modules")
	if len(rows) == 0 {
		return []string{design + ": no table under a heading Modules"}
	}
	root := "."
	if m, ok := t.Modules["."]; ok {
		root = m.Module
	}
	var found, listed []string
	for _, row := range rows {
		dir := strings.Trim(strings.Trim(row[0], "`"), "/")
		if own, ok := t.dirOf(dir); ok {
			dir = own
		}
		if dir == "root" || dir == path.Base(root) {
			dir = "."
		}
		listed = append(listed, dir)
		if dir != tools && !slices.Contains(t.Work.Use, dir) {
			found = append(found, fmt.Sprintf("%s: lists module %s, which go.work does not use", design, row[0]))
			continue
		}
		if len(row) < 2 || row[1] == "" {
			found = append(found, fmt.Sprintf("%s: gives no dependency for module %s", design, row[0]))
			continue
		}
		for _, dep := range modulePath.FindAllString(row[1], -1) {
			if m := t.Modules[dir]; m != nil && !slices.Contains(m.Require, strings.Trim(dep, "`")) {
				found = append(found, fmt.Sprintf("%s: justifies module %s by %s, which it does not require", design, row[0], dep))
			}
		}
	}
	for _, dir := range t.Work.Use {
		if !slices.Contains(listed, dir) {
			found = append(found, fmt.Sprintf("%s: does not list module %s of go.work", design, dir))
		}
	}
	return found
}
