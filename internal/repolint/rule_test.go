package repolint

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// order is a small tree that breaks no rule.
func order() map[string]string {
	return map[string]string{
		"go.mod":  "module example.org/m\n\ngo 1.26.0\n",
		"go.work": "go 1.26.0\n\nuse (\n\t.\n\t./examples\n\t./kafka // a backend\n)\n",
		"doc.go":  "// Package m is a sample.\npackage m\n\nimport _ \"example.org/m/driver\"\n",
		"m.go": "package m\n\nimport \"time\"\n\n// A Thing is a sample.\ntype Thing[T any] struct{}\n\n" +
			"// Do does.\nfunc (t *Thing[T]) Do() { _ = time.Now() }\n\nfunc (hidden) Do() {}\n\ntype hidden struct{}\n\n" +
			"// Two are values.\nconst (\n\tOne = 1\n\tTwo = 2\n)\n\n// Clock's answer is now.\nvar Clock = func() time.Time { return time.Now() }\n",
		"m_test.go": "package m\n\nimport (\n\t\"testing\"\n\t\"testing/synctest\"\n\t\"time\"\n)\n\n" +
			"func TestDo(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1) }) }\n\n" +
			"type batch struct{}\n\nfunc (batch) Skip(int) {}\n\nfunc use(x batch) { x.Skip(1) }\n\nvar _ = func(t *testing.T) { _ = func(t batch) { t.Skip(1) } }\n",
		"in_test.go": "package m\n\nimport (\n\t\"testing\"\n\t\"testing/synctest\"\n)\n\n" +
			"func in(t *testing.T, f func(*testing.T)) { synctest.Test(t, f) }\n",
		"nap_test.go": "package m\n\nimport (\n\t\"testing\"\n\t\"time\"\n)\n\n" +
			"func TestNap(t *testing.T) { in(t, func(*testing.T) { time.Sleep(1) }) }\n",
		"driver/driver.go":        "// Package driver is a seam.\npackage driver\n\nimport _ \"fmt\"\n",
		"mem/mem.go":              "// Package mem is a backend.\npackage mem\n\nimport (\n\t_ \"example.org/m/driver\"\n\t_ \"example.org/m/internal/ring\"\n)\n",
		"mem/mem_test.go":         "package mem\n\nimport _ \"example.org/m\"\n",
		"middleware/log.go":       "// Package middleware wraps.\npackage middleware\n\nimport _ \"example.org/m\"\n",
		"internal/ring/ring.go":   "// Package ring is a ring.\npackage ring\n",
		"internal/only/a_test.go": "// Package only has tests.\npackage only\n",
		"kafka/go.mod": "module example.org/m/kafka\n\ngo 1.26.0\n\nrequire (\n\texample.org/m v0.0.0\n\tclient.org/kafka v1.2.3\n)\n\n" +
			"replace example.org/m => ../\n",
		"kafka/kafka.go":       "// Package kafka is a backend.\npackage kafka\n\nimport (\n\t_ \"client.org/kafka\"\n\t_ \"example.org/m/driver\"\n)\n",
		"examples/go.mod":      "module example.org/m/examples\n\ngo 1.26.0\n\nrequire example.org/m v0.0.0\n\nreplace example.org/m => ../\n",
		"examples/orders/a.go": "// Command orders is an example.\npackage main\n\nimport _ \"example.org/m/mem\"\n",
		"tools/go.mod":         "module example.org/m/tools\n\ngo 1.26.0\n",
		"LICENSE":              "Apache License\nVersion 2.0, January 2004\nEND OF TERMS AND CONDITIONS\n",
		"Makefile":             ".PHONY: test\ntest: ## Test.\n\tgo test ./...\n",
		"README.md":            "Run `make test`. See [the design](docs/DESIGN.md#modules), [elsewhere](https://example.org/x) and `examples/orders`.\n",
		"docs/README.md":       "- [A page](page.md)\n",
		"docs/page.md": "The code is in `m.go` and `driver/driver.go`, below `internal/ring/`.\n\n```\n[no link](gone.md)\n```\n\n" +
			"A `m.go: Thing` can `m.go: Thing.Do`, as `TestDo` and `TestDo/twice` show:\n\n```go\nconst (\n  One = 1\n  Two = 2\n)\n```\n",
		"docs/DESIGN.md": "# Design\n\n## Modules\n\n| module | dependency |\n|---|---|\n| `.` | none |\n" +
			"| `kafka` | `client.org/kafka` |\n| `examples` | every broker's client |\n| `tools` | the linters |\n",
	}
}

func load(t *testing.T, files map[string]string) *Tree {
	t.Helper()
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	tree, err := Load(fsys)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestRulesPassOrder(t *testing.T) {
	t.Parallel()
	tree := load(t, order())
	for _, rule := range Rules() {
		for _, finding := range rule.Check(tree) {
			t.Errorf("%s: %s", rule.Name, finding)
		}
	}
}

// TestRulesFail breaks each rule in every way that it knows, one at a time.
func TestRulesFail(t *testing.T) {
	t.Parallel()
	rules := map[string]Rule{}
	for _, rule := range Rules() {
		if rule.Why == "" || !strings.HasSuffix(rule.Why, ".") {
			t.Errorf("%s has no reason", rule.Name)
		}
		rules[rule.Name] = rule
	}
	broken := map[string]bool{}
	for _, s := range samples {
		broken[s.rule] = true
		t.Run(s.rule+"/"+s.name, func(t *testing.T) {
			t.Parallel()
			files := order()
			maps.Copy(files, s.files)
			for name, text := range files {
				if text == gone {
					delete(files, name)
				}
			}
			found := rules[s.rule].Check(load(t, files))
			if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, s.want) }) {
				t.Errorf("found %q, want one with %q", found, s.want)
			}
		})
	}
	for name := range rules {
		if !broken[name] {
			t.Errorf("rule %s has no sample that breaks it", name)
		}
	}
}

func TestLoadNamesWhatDoesNotParse(t *testing.T) {
	t.Parallel()
	_, err := Load(fstest.MapFS{"a.go": {Data: []byte("package\n")}})
	if err == nil || !strings.Contains(err.Error(), "a.go:1") {
		t.Errorf("got %v, want an error with the file and line", err)
	}
}
