package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

const described = `guard: the answer is doubled
fault: 7
test: . TestDouble
file: a.go
--- guard
	n *= 2
--- without
--- end
`

const code = "package a\n\nfunc Double(n int) int {\n\tn *= 2\n\treturn n\n}\n"

func TestParse(t *testing.T) {
	t.Parallel()
	g, err := parse(described)
	if err != nil {
		t.Fatal(err)
	}
	if g.says != "the answer is doubled" || g.fault != "7" || g.pkg != "." || g.test != "TestDouble" {
		t.Errorf("got %+v", g)
	}
	if len(g.edits) != 1 || g.edits[0] != (edit{"a.go", "\tn *= 2\n", ""}) {
		t.Errorf("got edits %+v", g.edits)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, old, instead, want string }{
		{"no guard", "guard: the answer is doubled\n", "", "says not"},
		{"no test", "test: . TestDouble\n", "", "names no package"},
		{"no name", " TestDouble\n", "\n", "names no package"},
		{"no file", "file: a.go\n", "", "out of place"},
		{"no text", "\tn *= 2\n", "", "takes nothing out of a.go"},
		{"no end", "--- end\n", "", "ends without"},
		{"no edit", "file: a.go\n--- guard\n\tn *= 2\n--- without\n--- end\n", "", "takes nothing out"},
		{"no change", "--- without\n", "--- without\n\tn *= 2\n", "takes nothing out of a.go"},
		{"order", "--- guard\n", "--- without\n", "out of place"},
		{"other key", "fault: ", "flaw: ", "no key"},
	}
	for _, c := range cases {
		_, err := parse(strings.Replace(described, c.old, c.instead, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
	}
}

func TestWithout(t *testing.T) {
	t.Parallel()
	g := guard{edits: []edit{{"a.go", "\tn *= 2\n", ""}, {"a.go", "return n", "return 0"}}}
	files, err := g.without(fstest.MapFS{"a.go": {Data: []byte(code)}})
	if err != nil {
		t.Fatal(err)
	}
	if want := "package a\n\nfunc Double(n int) int {\n\treturn 0\n}\n"; files["a.go"] != want {
		t.Errorf("got %q, want %q", files["a.go"], want)
	}
	for name, text := range map[string]string{"none": "package a\n", "two": code + code} {
		if _, err := g.without(fstest.MapFS{"a.go": {Data: []byte(text)}}); err == nil {
			t.Errorf("%s: a text that is not there once is no error", name)
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	replace := func(old, instead string) string { return strings.Replace(described, old, instead, 1) }
	cases := []struct {
		name, guard string
		want        int
	}{
		{"missed", described, 0},
		{"not missed", replace("TestDouble", "TestNothing"), 1},
		{"hanging", replace("--- without\n", "--- without\n\tselect {}\n"), 0},
		{"does not compile", replace("--- without\n", "--- without\n\tn = \"\"\n"), 1},
		{"absent test", replace("TestDouble", "TestDoubles"), 1},
		{"failing test", replace("TestDouble", "TestBroken"), 1},
		{"stale", replace("\tn *= 2\n", "\tn *= 3\n"), 1},
		{"sub-test", replace("TestDouble", "TestSub/two"), 0},
		{"other sub-test", replace("TestDouble", "TestSub/none"), 1},
		{"several files", replace("file: a.go", "file: b.go\n--- guard\nB = 1\n--- without\nB = 2\n--- end\nfile: a.go"), 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			files := map[string]string{
				"go.mod": "module a\n\ngo 1.26.0\n",
				"a.go":   code,
				"b.go":   "package a\n\nconst B = 1\n",
				"a_test.go": "package a\n\nimport \"testing\"\n\n" +
					"func TestDouble(t *testing.T) {\n\tif Double(2) != 4 {\n\t\tt.Fail()\n\t}\n}\n\n" +
					"func TestNothing(t *testing.T) { Double(2) }\n\n" +
					"func TestBroken(t *testing.T) { t.Fail() }\n\n" +
					"func TestSub(t *testing.T) {\n\tt.Run(\"none\", TestNothing)\n\tt.Run(\"two\", TestDouble)\n}\n",
				folder + "/double.txt": c.guard,
				folder + "/notes.md":   "not a guard\n",
			}
			for name, text := range files {
				name = filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			trial := trial{root: root, jobs: 1, timeout: 5 * time.Second, out: t.Output()}
			bad, err := trial.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if bad != c.want {
				t.Errorf("%d guards are not missed, want %d", bad, c.want)
			}
			if after, err := os.ReadFile(filepath.Join(root, "a.go")); err != nil || string(after) != code {
				t.Errorf("the tree was changed: %q, %v", after, err)
			}
		})
	}
}

func TestFindNamesABadFile(t *testing.T) {
	t.Parallel()
	_, err := find(fstest.MapFS{"mem/testdata/guards/a.txt": {Data: []byte("guard: x\n")}})
	if err == nil || !strings.Contains(err.Error(), "mem/testdata/guards/a.txt") {
		t.Errorf("got %v, want an error with the file", err)
	}
}

// TestTreeIsFresh tells at once when code moved away from under the description of a guard.
func TestTreeIsFresh(t *testing.T) {
	t.Parallel()
	fsys := os.DirFS("../..")
	all, err := find(fsys)
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range all {
		if _, err := g.without(fsys); err != nil {
			t.Errorf("%s: %v", g.path, err)
		}
	}
}

// Parts have every guard once between them.
func TestParts(t *testing.T) {
	t.Parallel()
	all := make([]*guard, 10)
	for i := range all {
		all[i] = &guard{}
	}
	seen := map[*guard]int{}
	for part := range 3 {
		one := trial{part: part, parts: 3}
		for _, g := range one.partOf(all) {
			seen[g]++
		}
	}
	for i, g := range all {
		if seen[g] != 1 {
			t.Errorf("guard %d is in %d parts, want 1", i, seen[g])
		}
	}
	if got := len((&trial{}).partOf(all)); got != len(all) {
		t.Errorf("without parts there are %d guards, want %d", got, len(all))
	}
}

func TestPartIsANumberOfANumber(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"", "1", "0/3", "4/3", "a/b", "1/3x"} {
		if _, err := here("", part, 1); err == nil || !strings.Contains(err.Error(), strconv.Quote(part)) {
			t.Errorf("-part %q: got %v, want an error that quotes it", part, err)
		}
	}
}
