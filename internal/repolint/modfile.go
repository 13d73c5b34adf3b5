package repolint

import "strings"

// A ModFile is what the rules need to know of a go.mod or a go.work. It understands what `go mod tidy` writes.
type ModFile struct {
	Module string
	Go     string
	// Require has the required module paths in order, indirect ones too.
	Require []string
	// Replace has what a module path is replaced by.
	Replace map[string]string
	// Use has the folders of a go.work, cleaned: the root is ".".
	Use []string
}

func parseMod(text string) *ModFile {
	m := &ModFile{Replace: map[string]string{}}
	block := ""
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		fields := strings.Fields(line)
		switch {
		case len(fields) == 0:
		case fields[0] == ")":
			block = ""
		case len(fields) == 2 && fields[1] == "(":
			block = fields[0]
		case block != "":
			m.directive(block, fields)
		default:
			m.directive(fields[0], fields[1:])
		}
	}
	return m
}

func (m *ModFile) directive(verb string, args []string) {
	if len(args) == 0 {
		return
	}
	switch verb {
	case "module":
		m.Module = args[0]
	case "go":
		m.Go = args[0]
	case "require":
		m.Require = append(m.Require, args[0])
	case "replace":
		m.Replace[args[0]] = args[len(args)-1]
		if args[0] == "=>" || len(args) < 3 {
			delete(m.Replace, args[0])
		}
	case "use":
		dir := strings.TrimPrefix(args[0], "./")
		if dir == "" {
			dir = "."
		}
		m.Use = append(m.Use, dir)
	}
}
