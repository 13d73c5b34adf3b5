package page

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/wherryhq/wherry/bench/charts"
	"github.com/wherryhq/wherry/bench/charts/sample"
	"github.com/wherryhq/wherry/bench/document"
)

func pagesOf(t *testing.T, d *document.Document) map[string]string {
	t.Helper()
	files, err := Render(d)
	return texts(t, files, err)
}

func texts(t *testing.T, files []File, err error) map[string]string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		all[f.Name] = string(f.Data)
	}
	return all
}

// sampled are the pages of the sample, made once.
var sampled = sync.OnceValues(func() ([]File, error) { return Render(sample.Document()) })

func samplePages(t *testing.T) map[string]string {
	t.Helper()
	files, err := sampled()
	return texts(t, files, err)
}

func TestRenderTwiceTheSame(t *testing.T) {
	t.Parallel()
	one, other := samplePages(t), pagesOf(t, sample.Document())
	for name, text := range one {
		if text != other[name] {
			t.Errorf("%s differs from one time to the next", name)
		}
	}
}

// TestResultsShowEveryChart holds that the page and the pictures belong together, light and dark.
func TestResultsShowEveryChart(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	page := samplePages(t)["README.md"]
	figures := charts.Figures(d)
	for _, f := range figures {
		for _, name := range []string{f.Light(), f.Dark()} {
			if n := strings.Count(page, `"charts/`+name+`"`); n != 1 {
				t.Errorf("%s is on the page %d times, want once", name, n)
			}
		}
	}
	shown := regexp.MustCompile(`(?:src|srcset)="charts/[^"]+"`).FindAllString(page, -1)
	if len(shown) != 2*len(figures) {
		t.Errorf("the page shows %d pictures, want two of each of %d figures", len(shown), len(figures))
	}
	for _, family := range charts.Families() {
		if !strings.Contains(page, "\n## "+family.Title+"\n") {
			t.Errorf("the page has no section %q", family.Title)
		}
	}
}

func TestRowsHasEveryRow(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	page := samplePages(t)["rows.md"]
	for _, p := range parts(d) {
		for i := range p.Rows {
			if name := escaped(charts.Name(&p.Rows[i].Cell)); !strings.Contains(page, "| "+name+" |") {
				t.Errorf("%s has no row %q", p.name, name)
			}
		}
	}
	want := 0
	for _, p := range parts(d) {
		for i := range p.Rows {
			if p.Rows[i].NotShown != nil {
				want++
			}
		}
	}
	if got := strings.Count(page, "| n/s: "); got != want || want == 0 {
		t.Errorf("%d rows say why they have no value, want %d", got, want)
	}
}

// TestTablesAreEven holds that each row of a table has as many cells as its head.
func TestTablesAreEven(t *testing.T) {
	t.Parallel()
	for name, text := range samplePages(t) {
		columns := 0
		for n, line := range strings.Split(text, "\n") {
			if !strings.HasPrefix(line, "|") {
				columns = 0
				continue
			}
			got := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
			if columns != 0 && got != columns {
				t.Errorf("%s:%d: has %d bars, the head of its table %d", name, n+1, got, columns)
			}
			columns = got
		}
	}
}

func TestRenderWithoutDocument(t *testing.T) {
	t.Parallel()
	pages := pagesOf(t, nil)
	for _, name := range []string{"README.md", "reach.md", "levers.md", "rows.md", "method.md", "numbers.md"} {
		if !strings.Contains(pages[name], "No results document is committed yet") {
			t.Errorf("%s does not say that there is no document", name)
		}
		if strings.Contains(pages[name], "<picture>") {
			t.Errorf("%s shows a picture of nothing", name)
		}
	}
}

func TestFailedShowsTheErrorAndNoFigure(t *testing.T) {
	t.Parallel()
	const fault = "backends[0].matrix.rows[3].summary.median: is 12, and follows to be 13"
	files, err := Failed(errors.New(fault))
	pages := texts(t, files, err)
	for _, name := range []string{"README.md", "reach.md", "levers.md", "rows.md", "method.md", "numbers.md"} {
		if !strings.Contains(pages[name], fault) || strings.Contains(pages[name], "<picture>") {
			t.Errorf("%s does not show the error instead of figures", name)
		}
	}
}

func TestFromFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "results.json")
	files, err := FromFile(name)
	if none := texts(t, files, err); !strings.Contains(none["README.md"], "No results document") {
		t.Error("without a file the page does not say so")
	}
	if err := document.WriteFile(name, sample.Document()); err != nil {
		t.Fatal(err)
	}
	files, err = FromFile(name)
	if good := texts(t, files, err); !strings.Contains(good["README.md"], "<picture>") {
		t.Error("with a document the page has no picture")
	}
	if err := os.WriteFile(name, []byte(`{"schema": 99}`), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err = FromFile(name)
	if err == nil {
		t.Error("a wrong document is no error")
	}
	if bad := texts(t, files, nil); !strings.Contains(bad["README.md"], "cannot be read") || strings.Contains(bad["README.md"], "<picture>") {
		t.Error("with a wrong document the page does not say so, or has a picture")
	}
}

func TestProvenanceOfEachPartIsOnThePage(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	d.Backends[0].Code.Provenance.Quick = true
	page := pagesOf(t, d)["README.md"]
	for _, want := range []string{
		"| part | mem matrix | mem levers | mem code | mem peers |", "| valgrind | valgrind-3.19.0 |", "Sample CPU @ 2.50GHz, amd64",
		"**The part code of mem is a quick run, whose figures are no results.**", "| Watermill Router | buffer=10000 |",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestHarnessIsStated(t *testing.T) {
	t.Parallel()
	pages := samplePages(t)
	for _, name := range []string{"method.md", "numbers.md"} {
		if !strings.Contains(pages[name], "- mem: a note in the ledger takes 18 ns to 19 ns. Of a message that takes 1 µs that is at most 1.9 %.") {
			t.Errorf("%s does not say what the harness adds", name)
		}
	}
	if got := harness(&document.Document{}); !strings.Contains(got, "no row") {
		t.Errorf("without the row the text is %q", got)
	}
}
