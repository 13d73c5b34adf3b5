package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// A guard is a part of the code that keeps a fault away, and the test that would miss it.
type guard struct {
	// path is the file that describes it, from the root of the tree.
	path string
	// says is what the guard does, in a sentence.
	says string
	// fault is the number or name of the fault that it keeps away; it may be empty.
	fault string
	// pkg is the package of the test as the go command takes it, and test its name.
	pkg, test string
	edits     []edit
}

// An edit takes a text out of a file, which has it once, and puts another in its place.
type edit struct {
	file          string
	text, instead string
}

// folder is where guards are described, in any package.
const folder = "testdata/guards"

// find reads every description of a tree.
func find(fsys fs.FS) ([]guard, error) {
	var guards []guard
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path.Dir(p), folder) || path.Ext(p) != ".txt":
			return nil
		}
		text, err := fs.ReadFile(fsys, p)
		if err != nil {
			return fmt.Errorf("read %s: %w", p, err)
		}
		g, err := parse(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		g.path = p
		guards = append(guards, g)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("find guards: %w", err)
	}
	slices.SortFunc(guards, func(a, b guard) int { return strings.Compare(a.path, b.path) })
	return guards, nil
}

// parse reads a description:
//
//	guard: a retry is confirmed before its original is settled
//	fault: 3
//	test: ./mem TestRetryIsConfirmedFirst
//	file: settle.go
//	--- guard
//	the lines as they stand in the file
//	--- without
//	the lines without the guard, which may be none
//	--- end
//
// The part from file to end may come several times.
func parse(text string) (guard, error) {
	var g guard
	var e edit
	var into *string
	for line := range strings.Lines(text) {
		mark := strings.TrimSpace(line)
		switch {
		case mark == "--- guard" && into == nil && e.file != "":
			into = &e.text
		case mark == "--- without" && into == &e.text:
			into = &e.instead
		case mark == "--- end" && into == &e.instead:
			g.edits = append(g.edits, e)
			into, e = nil, edit{}
		case strings.HasPrefix(mark, "--- "):
			return g, fmt.Errorf("%q is out of place", mark)
		case into != nil:
			*into += line
		case mark == "":
		default:
			key, value, _ := strings.Cut(mark, ": ")
			if err := g.set(&e, key, value); err != nil {
				return g, err
			}
		}
	}
	if into != nil {
		return g, errors.New("ends without \"--- end\"")
	}
	if err := g.complete(); err != nil {
		return g, err
	}
	return g, nil
}

func (g *guard) set(e *edit, key, value string) error {
	switch key {
	case "guard":
		g.says = value
	case "fault":
		g.fault = value
	case "test":
		g.pkg, g.test, _ = strings.Cut(value, " ")
	case "file":
		e.file = value
	default:
		return fmt.Errorf("%q is no key of a guard", key)
	}
	return nil
}

func (g *guard) complete() error {
	switch {
	case g.says == "":
		return errors.New("says not what the guard does")
	case g.pkg == "" || g.test == "":
		return errors.New("names no package and test")
	case len(g.edits) == 0:
		return errors.New("takes nothing out")
	}
	for _, e := range g.edits {
		if e.text == "" || e.text == e.instead {
			return fmt.Errorf("takes nothing out of %s", e.file)
		}
	}
	return nil
}

// without returns the files of the guard as they are without it.
func (g *guard) without(fsys fs.FS) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range g.edits {
		text, ok := files[e.file]
		if !ok {
			b, err := fs.ReadFile(fsys, e.file)
			if err != nil {
				return nil, fmt.Errorf("read: %w", err)
			}
			text = string(b)
		}
		if n := strings.Count(text, e.text); n != 1 {
			return nil, fmt.Errorf("%s has the guard's text %d times, not once", e.file, n)
		}
		files[e.file] = strings.Replace(text, e.text, e.instead, 1)
	}
	return files, nil
}
