package repolint

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// maxLines is where a file is split, at the latest.
const maxLines = 600

func fileLength(t *Tree) []string {
	var found []string
	for _, p := range t.Paths {
		ext := path.Ext(p)
		code := ext == ".go" || ext == ".sh" || ext == ".py" || path.Base(p) == "Makefile"
		if n := strings.Count(t.Text[p], "\n"); code && n > maxLines {
			found = append(found, fmt.Sprintf("%s: has %d lines", p, n))
		}
	}
	return found
}

// drawers are names of packages and modules that say nothing.
var drawers = []string{
	"base", "common", "helper", "helpers", "impl", "manager", "misc", "shared", "type", "types", "util", "utils",
}

func drawerNames(t *Tree) []string {
	var found []string
	for _, f := range t.Go {
		if slices.Contains(drawers, strings.TrimSuffix(f.AST.Name.Name, "_test")) {
			found = append(found, t.at(f.AST.Name.Pos(), "package %s", f.AST.Name.Name))
		}
		if slices.Contains(drawers, path.Base(f.Dir)) {
			found = append(found, fmt.Sprintf("%s: folder %s", f.Path, f.Dir))
		}
	}
	for dir, m := range t.Modules {
		if slices.Contains(drawers, path.Base(m.Module)) {
			found = append(found, fmt.Sprintf("%s: module %s", path.Join(dir, "go.mod"), m.Module))
		}
	}
	slices.Sort(found)
	return found
}

// Words that the rules look for are written in two halves, so that they do not find themselves.
var noteWords = []string{"TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"}

func workNotes(t *Tree) []string {
	return t.eachLine(func(line string) (string, bool) {
		for _, w := range noteWords {
			if hasWord(line, w) {
				return "says " + w, true
			}
		}
		return "", false
	})
}

// machineParts are folders of the machines that people work on, and hosts that packages come from.
var machineParts = []string{
	"/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/", "/tmp/ba" + "sh_", "/tmp/wh" + "erry",
	"proxy.gol" + "ang.org", "sum.gol" + "ang.org", "pypi" + ".org", "files.python" + "hosted.org", "crates" + ".io",
	"registry.npm" + "js.org", "repo1.maven" + ".org", "repo.maven.apa" + "che.org", "deb.deb" + "ian.org",
}

func machinePaths(t *Tree) []string {
	return t.eachLine(func(line string) (string, bool) {
		for _, part := range machineParts {
			i := strings.Index(line, part)
			if i < 0 {
				continue
			}
			// A folder of the tree may be called so: only an absolute path is a machine's.
			if part[0] == '/' && i > 0 && isPathByte(line[i-1]) {
				continue
			}
			return "names " + part, true
		}
		return "", false
	})
}

func isPathByte(b byte) bool {
	return b == '.' || b == '-' || b == '_' || b == '}' || b == '*' ||
		'0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// hasWord reports whether the line has the word with no letter beside it.
func hasWord(line, word string) bool {
	letter := func(b byte) bool { return isPathByte(b) && b != '.' && b != '-' }
	for rest := line; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		end := i + len(word)
		if (i == 0 || !letter(rest[i-1])) && (end == len(rest) || !letter(rest[end])) {
			return true
		}
		rest = rest[end:]
	}
}

// eachLine applies a check to every line of every file, but for those that list checksums: their tools write them, and say
// where from.
func (t *Tree) eachLine(check func(line string) (finding string, bad bool)) []string {
	var found []string
	for _, p := range t.Paths {
		if path.Ext(p) == ".sum" || path.Base(p) == "Cargo.lock" {
			continue
		}
		n := 0
		for line := range strings.Lines(t.Text[p]) {
			n++
			if finding, bad := check(strings.TrimSuffix(line, "\n")); bad {
				found = append(found, fmt.Sprintf("%s:%d: %s", p, n, finding))
			}
		}
	}
	return found
}

func licencePresent(t *Tree) []string {
	text, ok := t.Text["LICENSE"]
	switch {
	case !ok:
		return []string{"LICENSE: there is none"}
	case !strings.Contains(text, "Apache License") || !strings.Contains(text, "Version 2.0, January 2004"):
		return []string{"LICENSE: is not the Apache License, Version 2.0"}
	case !strings.Contains(text, "END OF TERMS AND CONDITIONS"):
		return []string{"LICENSE: is not complete"}
	}
	return nil
}
