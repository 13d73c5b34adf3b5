package repolint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A Tree is a repository, read once. It is not changed after [Load], so that rules may read it concurrently.
type Tree struct {
	// Paths has every file, sorted, by its slash-separated path from the root.
	Paths []string
	// Text has the contents by path.
	Text map[string]string
	// Go has the parsed Go files, without those below a testdata folder.
	Go []*GoFile
	// Modules has the parsed go.mod files by folder; the root is ".".
	Modules map[string]*ModFile
	// Work is the parsed go.work, empty where there is none.
	Work *ModFile

	fset *token.FileSet
}

// A GoFile is a parsed Go file.
type GoFile struct {
	Path string
	// Dir is the folder of the file, "." at the root.
	Dir string
	// Module is the folder of the nearest go.mod at or above the file.
	Module string
	Test   bool
	AST    *ast.File
}

// Imports reports whether the file imports the package.
func (f *GoFile) Imports(pkg string) bool {
	return slices.Contains(f.ImportPaths(), pkg)
}

// ImportPaths lists what the file imports.
func (f *GoFile) ImportPaths() []string {
	paths := make([]string, 0, len(f.AST.Imports))
	for _, s := range f.AST.Imports {
		paths = append(paths, strings.Trim(s.Path.Value, "\""))
	}
	return paths
}

// Load reads a tree. Folders that Git ignores here, and Git's own, are left out.
func Load(fsys fs.FS) (*Tree, error) {
	t := &Tree{
		Text:    map[string]string{},
		Modules: map[string]*ModFile{},
		Work:    &ModFile{},
		fset:    token.NewFileSet(),
	}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); name == ".git" || name == ".tmp" || name == ".brokers" {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		// What is not text (a compiled test, a profile) is no concern of any rule.
		if !bytes.ContainsRune(text, 0) {
			t.Paths = append(t.Paths, p)
			t.Text[p] = string(text)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the tree: %w", err)
	}
	slices.Sort(t.Paths)
	if err := t.parse(); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tree) parse() error {
	for _, p := range t.Paths {
		switch path.Base(p) {
		case "go.mod":
			t.Modules[path.Dir(p)] = parseMod(t.Text[p])
		case "go.work":
			if path.Dir(p) == "." {
				t.Work = parseMod(t.Text[p])
			}
		}
	}
	for _, p := range t.Paths {
		if path.Ext(p) != ".go" || slices.Contains(strings.Split(p, "/"), "testdata") {
			continue
		}
		file, err := parser.ParseFile(t.fset, p, t.Text[p], parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("parse: %w", err)
		}
		t.Go = append(t.Go, &GoFile{
			Path:   p,
			Dir:    path.Dir(p),
			Module: t.moduleOf(path.Dir(p)),
			Test:   strings.HasSuffix(p, "_test.go"),
			AST:    file,
		})
	}
	return nil
}

// moduleOf returns the folder of the nearest go.mod at or above dir.
func (t *Tree) moduleOf(dir string) string {
	for dir != "." {
		if _, ok := t.Modules[dir]; ok {
			return dir
		}
		dir = path.Dir(dir)
	}
	return "."
}

// at writes a finding with its file and line.
func (t *Tree) at(pos token.Pos, format string, args ...any) string {
	p := t.fset.Position(pos)
	return fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...))
}

// has reports whether the path is a file of the tree or a folder with files.
func (t *Tree) has(p string) bool {
	p = path.Clean(p)
	if p == "." {
		return true
	}
	if _, ok := t.Text[p]; ok {
		return true
	}
	i, _ := slices.BinarySearch(t.Paths, p+"/")
	return i < len(t.Paths) && strings.HasPrefix(t.Paths[i], p+"/")
}
