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
	head, tail, _ := strings.Cut(page, "\n## What is not drawn\n")
	figures := charts.Figures(d)
	drawn := map[string]bool{} // families with a picture of something
	for _, f := range figures {
		drawn[f.Family] = drawn[f.Family] || f.Refusal == ""
	}
	pictures := 0
	for _, f := range figures {
		if !drawn[f.Family] {
			if n := strings.Count(tail, "- ["+f.Title+"](charts/"+f.Light()+"): "+escaped(f.Refusal)+"\n"); n != 1 {
				t.Errorf("%s is %d times among what is not drawn, want once", f.Name, n)
			}
			continue
		}
		for _, name := range []string{f.Light(), f.Dark()} {
			pictures++
			if n := strings.Count(head, `"charts/`+name+`"`); n != 1 {
				t.Errorf("%s is on the page %d times, want once", name, n)
			}
		}
	}
	shown := regexp.MustCompile(`(?:src|srcset)="charts/[^"]+"`).FindAllString(page, -1)
	if len(shown) != pictures {
		t.Errorf("the page shows %d pictures, want %d", len(shown), pictures)
	}
	for _, family := range charts.Families() {
		if strings.Contains(head, "\n## "+family.Title+"\n") != drawn[family.Name] {
			t.Errorf("the page has a section %q, or none, and something is drawn of it: %v", family.Title, drawn[family.Name])
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
		"**The part code of mem is a quick run, whose figures are no results.**", "| Watermill Router | live, parallel, 64 B, consumers 1, 2, 4, 8 and 32, processors 2 | buffer=10000 |",
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
		if !strings.Contains(pages[name], "- mem: a note in the ledger takes 18 ns to 19 ns. Of a message that takes 1 µs that is at most 1.9 %. Of the fastest row of the matrix, ") {
			t.Errorf("%s does not say what the harness adds", name)
		}
	}
	if !strings.Contains(pages["method.md"], " %. [Each row](rows.md) has its share.\n") {
		t.Error("method.md does not say what the harness is of the fastest row")
	}
	if !strings.Contains(pages["rows.md"], "| a note in the ledger, at most |") {
		t.Error("rows.md has no share of the harness")
	}
	if got := harness(&document.Document{}); !strings.Contains(got, "no row") {
		t.Errorf("without the row the text is %q", got)
	}
}

// TestHarnessShare has a row of 57 ns beside a note of 11 ns.
func TestHarnessShare(t *testing.T) {
	t.Parallel()
	note := &document.Row{Summary: &document.Summary{Worst: 1e9 / 11.0}}
	for ns, want := range map[float64]string{57: "20 %", 1000: "1.1 %", 1e6: "0.0011 %"} {
		if got := noteShare(note, &document.Row{Summary: &document.Summary{Median: 1e9 / ns}}); got != want {
			t.Errorf("of a row of %v ns the share is %s, want %s", ns, got, want)
		}
	}
}

// TestPagesOfNoResult holds that nobody takes the pages of a quick or an interrupted run for those of the repository.
func TestPagesOfNoResult(t *testing.T) {
	t.Parallel()
	whole := func() *document.Document {
		d := sample.Document()
		for _, p := range parts(d) {
			for i := range p.Rows {
				if r := p.Rows[i].NotShown; r != nil && r.Text == document.Interrupted {
					r.Text = "the tool is not there"
				}
			}
		}
		return d
	}
	quick, cut := whole(), whole()
	quick.Backends[0].Levers.Provenance.Quick = true
	cut.Backends[0].Peers.Rows[0] = document.Row{
		Cell: cut.Backends[0].Peers.Rows[0].Cell, Method: document.Live, NotShown: &document.Reason{Code: document.NotMeasured, Text: document.Interrupted},
	}
	for name, test := range map[string]struct {
		d       *document.Document
		warning string
	}{
		"whole":       {whole(), ""},
		"quick":       {quick, "> **From a quick run, whose figures are no results.**\n"},
		"interrupted": {cut, "> **From a run that was interrupted: not all of its cells were measured.**\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for file, text := range pagesOf(t, test.d) {
				if test.warning != "" && !strings.Contains(text, test.warning) {
					t.Errorf("%s does not say what it is from", file)
				}
				if test.warning == "" && strings.Contains(text, "> **From") {
					t.Errorf("%s says that it is from no result", file)
				}
				if named := strings.Contains(text, "The document is ["+Source+"]"); file == "README.md" && named != (test.warning == "") {
					t.Errorf("that it is from the document of the repository: %v", named)
				}
			}
		})
	}
	files, err := render(whole(), "few.json")
	if got := texts(t, files, err)["README.md"]; !strings.Contains(got, "The document is `few.json`, and not the one of the repository.") {
		t.Error("the page does not name the file that it is made from")
	}
}

// TestRunsAreNoDeviations holds that what each run came to stands with its row, and not in the method.
func TestRunsAreNoDeviations(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	for i := range d.Backends[0].Peers.Rows {
		if r := &d.Backends[0].Peers.Rows[i]; r.Load != nil {
			r.Notes = append(r.Notes, "the median of 3 runs, whose p99 from the send were 1 µs, 2 µs, 3 µs")
		}
	}
	pages := pagesOf(t, d)
	if strings.Contains(pages["method.md"], "the median of 3 runs") || !strings.Contains(pages["rows.md"], "| 1 µs, 2 µs, 3 µs |") {
		t.Error("the runs of a load are not where they belong")
	}
}

// TestSettingsSayTheirCells has rows that differ in a number, and one that differs in a word.
func TestSettingsSayTheirCells(t *testing.T) {
	t.Parallel()
	row := func(consumers int, settings ...string) document.Row {
		return document.Row{
			Cell:   document.Cell{Subject: "shove", Flow: "parallel", Payload: 64, Consumers: consumers, Procs: 2},
			Method: document.Drain, Settings: settings,
		}
	}
	d := &document.Document{Backends: []document.Backend{{Name: "mem", Peers: &document.Part{Rows: []document.Row{
		row(1, "capacity=500", "concurrent=true", "prefetch=100"), row(2, "capacity=700", "concurrent=false", "prefetch=1"),
		row(4, "capacity=600", "concurrent=false", "prefetch=1"),
	}}}}}
	got := settings(d)
	for _, want := range []string{
		"| shove | drain, parallel, 64 B, consumers 1, processors 2 | capacity=500, concurrent=true, prefetch=100 |\n",
		"| shove | drain, parallel, 64 B, consumers 2 and 4, processors 2 | capacity=600 to 700, concurrent=false, prefetch=1 |\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the settings lack %s they are\n%s", want, got)
		}
	}
}
