package repolint

import "strings"

// A sample is the tree in order but for some files.
type sample struct {
	rule  string
	name  string
	want  string
	files map[string]string
}

// gone as a text removes the file.
const gone = "\x01"

var samples = []sample{
	{"root-requires-nothing", "block", "requires other.org/x", map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26.0\n\nrequire (\n\tother.org/x v1.0.0 // indirect\n)\n",
	}},
	{"root-requires-nothing", "line", "requires other.org/x", map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.26.0\n\nrequire other.org/x v1.0.0\n",
	}},
	{"root-requires-nothing", "no module", "go.mod: there is none", map[string]string{"go.mod": gone}},

	{"root-imports-std", "test", "a_test.go: imports other.org/x", map[string]string{
		"a_test.go": "package m\n\nimport _ \"other.org/x/y\"\n",
	}},
	{"root-imports-std", "nested module", "of another module", map[string]string{
		"a_test.go": "package m\n\nimport _ \"example.org/m/kafka\"\n",
	}},

	{"layers", "driver upwards", "driver/a.go: imports example.org/m,", map[string]string{
		"driver/a.go": "package driver\n\nimport _ \"example.org/m\"\n",
	}},
	{"layers", "driver on the suite", "driver/a.go: imports example.org/m/driver/drivertest", map[string]string{
		"driver/a.go": "package driver\n\nimport _ \"example.org/m/driver/drivertest\"\n",
	}},
	{"layers", "gap on the seam", "driver/gap/a.go: imports example.org/m/driver,", map[string]string{
		"driver/gap/a.go": "// Package gap is a sample.\npackage gap\n\nimport _ \"example.org/m/driver\"\n",
	}},
	{"layers", "mem on root", "mem/a.go: imports example.org/m,", map[string]string{
		"mem/a.go": "package mem\n\nimport _ \"example.org/m\"\n",
	}},
	{"layers", "backend on root", "kafka/a.go: imports example.org/m,", map[string]string{
		"kafka/a.go": "package kafka\n\nimport _ \"example.org/m\"\n",
	}},
	{"layers", "root on a backend", "a.go: imports example.org/m/mem", map[string]string{
		"a.go": "package m\n\nimport _ \"example.org/m/mem\"\n",
	}},
	{"layers", "root on middleware", "a.go: imports example.org/m/middleware", map[string]string{
		"a.go": "package m\n\nimport _ \"example.org/m/middleware\"\n",
	}},
	{"layers", "codec on root", "codec/a.go: imports example.org/m,", map[string]string{
		"codec/a.go": "// Package codec is a sample.\npackage codec\n\nimport _ \"example.org/m\"\n",
	}},
	{"layers", "on the rules", "imports example.org/m/internal/repolint", map[string]string{
		"a.go": "package m\n\nimport _ \"example.org/m/internal/repolint\"\n",
	}},
	{"layers", "no layer", "folder lost has no layer", map[string]string{
		"lost/a.go": "// Package lost is a sample.\npackage lost\n",
	}},

	{"no-internal-outside", "test", "imports example.org/m/internal/ring", map[string]string{
		"examples/orders/a_test.go": "package main\n\nimport _ \"example.org/m/internal/ring\"\n",
	}},

	{"workspace", "missing use", "does not use nats", map[string]string{"nats/go.mod": "module example.org/m/nats\n\ngo 1.26.0\n"}},
	{"workspace", "missing module", "uses nats", map[string]string{"go.work": "go 1.26.0\n\nuse ./nats\n"}},

	{"go-directive", "nested", "kafka/go.mod: go 1.25.0", map[string]string{"kafka/go.mod": "module example.org/m/kafka\n\ngo 1.25.0\n"}},
	{"go-directive", "tools", "tools/go.mod: go 1.27.0", map[string]string{"tools/go.mod": "module example.org/m/tools\n\ngo 1.27.0\n"}},
	{"go-directive", "workspace", "go.work: go 1.27.0", map[string]string{"go.work": "go 1.27.0\n\nuse .\n"}},

	{"replace", "missing", "wants `replace example.org/m => ..`", map[string]string{
		"kafka/go.mod": "module example.org/m/kafka\n\ngo 1.26.0\n\nrequire example.org/m v0.0.0\n",
	}},
	{"replace", "wrong depth", "wants `replace example.org/m => ../..`", map[string]string{
		"cmd/m/go.mod": "module example.org/m/cmd/m\n\ngo 1.26.0\n\nrequire example.org/m v0.0.0\n\nreplace example.org/m => ..\n",
	}},
	{"replace", "sibling", "wants `replace example.org/m/kafka => ../kafka`", map[string]string{
		"examples/go.mod": "module example.org/m/examples\n\ngo 1.26.0\n\nrequire example.org/m/kafka v0.0.0\n",
	}},

	{"module-table", "no document", "docs/DESIGN.md: there is none", map[string]string{"docs/DESIGN.md": gone}},
	{"module-table", "no table", "no table under a heading Modules", map[string]string{"docs/DESIGN.md": "# Design\n\n## Modules\n\nNone.\n"}},
	{"module-table", "table elsewhere", "no table under a heading Modules", map[string]string{
		"docs/DESIGN.md": "## Others\n\n| module | dependency |\n|---|---|\n| `.` | none |\n",
	}},
	{"module-table", "missing row", "does not list module kafka", map[string]string{
		"docs/DESIGN.md": "## Modules\n\n| module | dependency |\n|---|---|\n| `.` | none |\n| `examples` | all |\n",
	}},
	{"module-table", "row too many", "lists module `nats`", map[string]string{
		"docs/DESIGN.md": "## Modules\n\n| module | dependency |\n|---|---|\n| `nats` | `client.org/nats` |\n",
	}},
	{"module-table", "no dependency", "gives no dependency for module `kafka`", map[string]string{
		"docs/DESIGN.md": "## Modules\n\n| module | dependency |\n|---|---|\n| `kafka` | |\n",
	}},
	{"module-table", "other dependency", "by `other.org/x`, which it does not require", map[string]string{
		"docs/DESIGN.md": "## Modules\n\n| module | dependency |\n|---|---|\n| `kafka` | `other.org/x` |\n",
	}},

	{"file-length", "go", "a.go: has 601 lines", map[string]string{"a.go": "package m\n" + strings.Repeat("\n", 600)}},
	{"file-length", "test", "a_test.go: has 601 lines", map[string]string{"a_test.go": "package m\n" + strings.Repeat("\n", 600)}},
	{"file-length", "script", "scripts/a.sh: has 700 lines", map[string]string{"scripts/a.sh": strings.Repeat("\n", 700)}},

	{"drawer-names", "package", "package util", map[string]string{"internal/a/a.go": "// Package util is a sample.\npackage util\n"}},
	{"drawer-names", "test package", "package types_test", map[string]string{"internal/a/a_test.go": "package types_test\n"}},
	{"drawer-names", "folder", "folder internal/common", map[string]string{"internal/common/a.go": "// Package a is a sample.\npackage a\n"}},
	{"drawer-names", "module", "module example.org/m/shared", map[string]string{"x/go.mod": "module example.org/m/shared\n\ngo 1.26.0\n"}},

	{"package-comment", "missing", "package ring of internal/ring has no comment", map[string]string{"internal/ring/ring.go": "package ring\n"}},
	{"package-comment", "only in a test", "package ring of internal/ring has no comment", map[string]string{
		"internal/ring/ring.go":   "package ring\n",
		"internal/ring/a_test.go": "// Package ring is a ring.\npackage ring\n",
	}},
	{"package-comment", "test package", "package only of internal/only has no comment", map[string]string{"internal/only/a_test.go": "package only\n"}},
	{"package-comment", "command", "package main of examples/orders has no comment", map[string]string{"examples/orders/a.go": "package main\n"}},

	{"exported-comment", "func", "a.go:3: Do has no comment", map[string]string{"a.go": "package m\n\nfunc Do() {}\n"}},
	{"exported-comment", "other name", "Do has no comment", map[string]string{"a.go": "package m\n\n// Does it.\nfunc Do() {}\n"}},
	{"exported-comment", "method", "Do has no comment", map[string]string{"a.go": "package m\n\nfunc (t *Thing[T]) Do() {}\n"}},
	{"exported-comment", "type", "T has no comment", map[string]string{"a.go": "package m\n\ntype T struct{}\n"}},
	{"exported-comment", "type of a group", "T has no comment", map[string]string{"a.go": "package m\n\n// Types.\ntype (\n\tT struct{}\n)\n"}},
	{"exported-comment", "constant", "C has no comment", map[string]string{"a.go": "package m\n\nconst C = 1\n"}},
	{"exported-comment", "variable", "V has no comment", map[string]string{"a.go": "package m\n\nvar (\n\tV = 1\n)\n"}},

	{"package-state", "timer", "time.NewTimer of the package", map[string]string{"a.go": "package m\n\nimport \"time\"\n\nvar x = time.NewTimer(1)\n"}},
	{"package-state", "start", "time.Now of the package", map[string]string{"a.go": "package m\n\nimport \"time\"\n\nvar x = time.Now()\n"}},
	{"package-state", "type", "time.Ticker of the package", map[string]string{"a.go": "package m\n\nimport \"time\"\n\nvar x *time.Ticker\n"}},
	{"package-state", "channel", "a channel of the package", map[string]string{"a.go": "package m\n\nvar x = make(chan int)\n"}},
	{"package-state", "pooled", "a channel of the package", map[string]string{"a.go": "package m\n\nvar x struct{ c []chan int }\n"}},

	{"sleeping-test", "test", "a_test.go:6: time.Sleep", map[string]string{
		"a_test.go": "package m\n\nimport \"time\"\n\nfunc f() {\n\ttime.Sleep(1)\n}\n",
	}},
	{"sleeping-test", "helper without a bubble", "b_test.go:5: time.Sleep", map[string]string{
		"a_test.go": "package m\n\nimport \"testing/synctest\"\n\nfunc with(f func()) { f(); synctest.Wait() }\n",
		"b_test.go": "package m\n\nimport \"time\"\n\nfunc f() { with(func() { time.Sleep(1) }) }\n",
	}},
	{"sleeping-test", "bubble of another package", "b/b_test.go:5: time.Sleep", map[string]string{
		"a_test.go":   "package m\n\nimport \"testing/synctest\"\n\nfunc in(f func()) { synctest.Test(nil, nil) }\n",
		"b/b_test.go": "package b\n\nimport \"time\"\n\nfunc f() { in(func() { time.Sleep(1) }) }\n",
	}},
	{"sleeping-test", "as a value", "time.Sleep", map[string]string{"a_test.go": "package m\n\nimport \"time\"\n\nvar nap = time.Sleep\n"}},

	{"skipped-test", "test", "t.Skip", map[string]string{
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestX(t *testing.T) { t.Skip(\"later\") }\n",
	}},
	{"skipped-test", "sub-test", "t.Skipf", map[string]string{
		"a_test.go": "package m\n\nimport \"testing\"\n\nvar x = func(t *testing.T) { use(func() { t.Skipf(\"\") }) }\n",
	}},
	{"skipped-test", "helper", "tb.SkipNow", map[string]string{
		"a.go": "package m\n\nimport \"testing\"\n\nfunc x(tb testing.TB) { tb.SkipNow() }\n",
	}},

	{"work-note", "go", "a.go:3: says " + noteWords[0], map[string]string{"a.go": "package m\n\n// " + noteWords[0] + ": more.\n"}},
	{"work-note", "script", "scripts/a.sh:1: says " + noteWords[1], map[string]string{"scripts/a.sh": "# " + noteWords[1] + "(me)\n"}},

	{"machine-path", "absolute", "docs/page.md:1: names", map[string]string{"docs/page.md": "See " + machineParts[0] + "main.\n"}},
	{"machine-path", "quoted", "a.go:3: names", map[string]string{"a.go": "package m\n\nconst dir = \"" + machineParts[1] + "x\"\n"}},
	{"machine-path", "host", "Makefile:1: names", map[string]string{"Makefile": "export GOPROXY=https://" + machineParts[5] + "\n"}},

	{"licence", "missing", "there is none", map[string]string{"LICENSE": gone}},
	{"licence", "other", "is not the Apache License", map[string]string{"LICENSE": "Be good.\n"}},
	{"licence", "cut", "is not complete", map[string]string{"LICENSE": "Apache License\nVersion 2.0, January 2004\n"}},

	{"doc-reference", "link", "docs/page.md:1: links to gone.md", map[string]string{"docs/page.md": "[x](gone.md)\n"}},
	{"doc-reference", "link with a part", "links to ../gone.md#x", map[string]string{"docs/page.md": "[x](../gone.md#x)\n"}},
	{"doc-reference", "file", "names `driver/gone.go`", map[string]string{"docs/page.md": "See `driver/gone.go`.\n"}},
	{"doc-reference", "bare file", "names `gone.go`", map[string]string{"README.md": "See `gone.go`.\n"}},
	{"doc-reference", "folder", "names `internal/gone/`", map[string]string{"README.md": "See `internal/gone/`.\n"}},

	{"make-target", "backticks", "docs/page.md:1: make gone", map[string]string{"docs/page.md": "Call `make gone`.\n"}},
	{"make-target", "fenced", "README.md:2: make gone", map[string]string{"README.md": "```\n$ make gone\n```\n"}},

	{"doc-name", "no such file", "docs/page.md:1: there is no file gone.go", map[string]string{"docs/page.md": "See `gone.go: Do`.\n"}},
	{"doc-name", "function", "m.go does not declare Undo", map[string]string{"docs/page.md": "See `m.go: Undo`.\n"}},
	{"doc-name", "method of another type", "m.go does not declare hidden.Undo", map[string]string{"docs/page.md": "See `m.go: hidden.Undo`.\n"}},
	{"doc-name", "bare file elsewhere", "there is no file ring.go", map[string]string{"docs/page.md": "See `ring.go: Ring`.\n"}},

	{"doc-test", "test", "docs/page.md:1: there is no test TestUndo", map[string]string{"docs/page.md": "See `TestUndo`.\n"}},
	{"doc-test", "sub-test", "there is no test TestUndo", map[string]string{"docs/page.md": "See `TestUndo/all of it`.\n"}},
	{"doc-test", "not in a test", "there is no test TestLike", map[string]string{
		"a.go": "package m\n\n// TestLike is none.\nfunc TestLike() {}\n", "docs/page.md": "See `TestLike`.\n",
	}},

	{"doc-snippet", "other code", "docs/page.md:3: no Go file", map[string]string{"docs/page.md": "See:\n\n```go\nreturn time.Then()\n```\n"}},
	{"doc-snippet", "part of a line", "docs/page.md:1: no Go file", map[string]string{"docs/page.md": "```go\nOne =\n```\n"}},
	{"doc-snippet", "empty", "docs/page.md:1: no Go file", map[string]string{"docs/page.md": "```go\n```\n"}},
	{"doc-snippet", "second of two", "docs/page.md:4: no Go file", map[string]string{
		"docs/page.md": "```go\nOne = 1\n```\n```go\nOne = 2\n```\n",
	}},

	{"doc-linked", "page", "docs/lost.md: neither", map[string]string{"docs/lost.md": "Lost.\n"}},

	{"example-complete", "none", "a.go:4: no example shows Do", map[string]string{"a.go": "package m\n\n// Do does.\nfunc Do() {}\n"}},
	{"example-complete", "only in a test", "no example shows Do", map[string]string{
		"a.go":      "package m\n\n// Do does.\nfunc Do() {}\n",
		"a_test.go": "package m_test\n\nimport \"example.org/m\"\n\nvar x = m.Do\n",
	}},

	{"example-mentioned", "example", "examples/lost: no document", map[string]string{
		"examples/lost/a.go": "// Command lost is an example.\npackage main\n",
	}},
	{"example-mentioned", "longer name", "examples/order: no document", map[string]string{
		"examples/order/a.go": "// Command order is an example.\npackage main\n",
	}},
}
