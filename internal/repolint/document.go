package repolint

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	// modulePath is a module named in a table: `host.tld/path`.
	modulePath = regexp.MustCompile("`[a-z0-9.-]+\\.[a-z]+/[^`\\s]+`")
	// link is the target of a Markdown link or picture.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// reference is a backticked path that looks like a file or a folder of the tree.
	reference = regexp.MustCompile("`(\\.{0,2}/?[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*(?:\\.(?:go|md|sh|yml|mod|work|txt)|/))`")
	// target is a backticked or indented call of make.
	target = regexp.MustCompile("(?:`|^\\s*\\$? ?)make ([a-z][a-z-]*)")
	// targetRule is the line of a Makefile that defines a target.
	targetRule = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
)

// documents returns the Markdown files, but not the record of what once was.
func (t *Tree) documents() []string {
	var docs []string
	for _, p := range t.Paths {
		if path.Ext(p) == ".md" && path.Base(p) != "CHANGELOG.md" && !slices.Contains(strings.Split(p, "/"), "testdata") {
			docs = append(docs, p)
		}
	}
	return docs
}

func docReferences(t *Tree) []string {
	var found []string
	for _, doc := range t.documents() {
		for n, line := range outsideFences(t.Text[doc]) {
			for _, m := range link.FindAllStringSubmatch(line, -1) {
				u, err := url.Parse(m[1])
				if err != nil || u.Scheme != "" || u.Path == "" {
					continue
				}
				if !t.has(path.Join(path.Dir(doc), u.Path)) {
					found = append(found, fmt.Sprintf("%s:%d: links to %s", doc, n, m[1]))
				}
			}
			for _, m := range reference.FindAllStringSubmatch(line, -1) {
				if !t.hasNamed(doc, m[1]) {
					found = append(found, fmt.Sprintf("%s:%d: names %#q", doc, n, m[1]))
				}
			}
		}
	}
	return found
}

// hasNamed reports whether a document means something by a path: from the root, from the document's folder, or the
// bare name of a file anywhere.
func (t *Tree) hasNamed(doc, name string) bool {
	if t.has(strings.TrimPrefix(name, "/")) || t.has(path.Join(path.Dir(doc), name)) {
		return true
	}
	bare := !strings.Contains(name, "/")
	return bare && slices.ContainsFunc(t.Paths, func(p string) bool { return path.Base(p) == name })
}

// outsideFences yields the lines of a Markdown text, numbered from one, without those of fenced code.
func outsideFences(text string) func(func(int, string) bool) {
	return func(yield func(int, string) bool) {
		n, fenced := 0, false
		for line := range strings.Lines(text) {
			n++
			if strings.HasPrefix(strings.TrimSpace(line), "```") {
				fenced = !fenced
				continue
			}
			if !fenced && !yield(n, strings.TrimSuffix(line, "\n")) {
				return
			}
		}
	}
}

func makeTargets(t *Tree) []string {
	rules := targetRule.FindAllStringSubmatch(t.Text["Makefile"], -1)
	targets := make([]string, 0, len(rules))
	for _, m := range rules {
		targets = append(targets, m[1])
	}
	var found []string
	for _, doc := range t.documents() {
		n := 0
		for line := range strings.Lines(t.Text[doc]) {
			n++
			for _, m := range target.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(targets, m[1]) {
					found = append(found, fmt.Sprintf("%s:%d: make %s", doc, n, m[1]))
				}
			}
		}
	}
	return found
}

func docsLinked(t *Tree) []string {
	linked := map[string]bool{}
	for _, index := range []string{"README.md", "docs/README.md"} {
		for _, m := range link.FindAllStringSubmatch(t.Text[index], -1) {
			file, _, _ := strings.Cut(m[1], "#")
			linked[path.Join(path.Dir(index), file)] = true
		}
	}
	var found []string
	for _, doc := range t.documents() {
		if strings.HasPrefix(doc, "docs/") && doc != "docs/README.md" && !linked[doc] {
			found = append(found, doc+": neither README.md nor docs/README.md links to it")
		}
	}
	return found
}

func examplesMentioned(t *Tree) []string {
	var all strings.Builder
	for _, doc := range t.documents() {
		all.WriteString(t.Text[doc])
	}
	var found []string
	seen := map[string]bool{}
	for _, f := range t.Go {
		parts := strings.Split(f.Path, "/")
		if len(parts) < 3 || parts[0] != "examples" || seen[parts[1]] {
			continue
		}
		seen[parts[1]] = true
		if dir := "examples/" + parts[1]; !hasWord(all.String(), dir) {
			found = append(found, dir+": no document mentions it")
		}
	}
	return found
}

// tableUnder returns the body rows of the first table under a heading, each as its trimmed cells.
func tableUnder(text, heading string) [][]string {
	var rows [][]string
	under, header := false, true
	for _, line := range outsideFences(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			if len(rows) > 0 {
				return rows
			}
			name := strings.TrimLeft(line, "# 0123456789.")
			under, header = name == heading, true
		case under && strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			if rule := strings.Trim(cells[0], ":-") == ""; rule {
				header = false
			} else if !header {
				rows = append(rows, cells)
			}
		case under && len(rows) > 0:
			return rows
		}
	}
	return rows
}
