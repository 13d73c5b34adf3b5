package charts

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/bench/charts/sample"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
)

// named is the figure of a name, which must be there.
func named(t *testing.T, figures []Figure, name string) *Figure {
	t.Helper()
	i := slices.IndexFunc(figures, func(f Figure) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no figure %s", name)
	}
	return &figures[i]
}

func TestFiguresOfNothingAreRefusals(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]*document.Document{
		"no backend": {},
		"no part":    {Backends: []document.Backend{{Name: "mem"}}},
		"no row": {Backends: []document.Backend{{
			Name: "mem", Matrix: &document.Part{}, Levers: &document.Part{}, Code: &document.Part{}, Peers: &document.Part{},
		}}},
	} {
		figures := Figures(d)
		for _, family := range Families() {
			var refused []string
			for _, f := range figures {
				if f.Family != family.Name {
					continue
				}
				if f.Refusal == "" || f.body != nil {
					t.Errorf("%s: %s is drawn", name, f.Name)
				}
				refused = append(refused, f.Refusal)
			}
			if len(refused) == 0 {
				t.Errorf("%s: family %s has no figure", name, family.Name)
			}
		}
		drawn(t, d)
	}
}

// TestFiguresWithoutValues takes the value from every row, and no chart may show one.
func TestFiguresWithoutValues(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	b := &d.Backends[0]
	for _, p := range []*document.Part{b.Matrix, b.Levers, b.Code, b.Peers} {
		for i := range p.Rows {
			p.Rows[i] = document.Row{
				Cell: p.Rows[i].Cell, Method: p.Rows[i].Method,
				NotShown: &document.Reason{Code: document.Withheld, Text: "the machine was busy"},
			}
		}
		p.Derive()
	}
	for _, f := range Figures(d) {
		if f.Refusal == "" {
			t.Errorf("%s is drawn", f.Name)
		}
		for _, row := range f.Table.Rows {
			for _, cell := range row[1:] {
				if cell != "n/s" && cell != "" {
					t.Errorf("%s: the table has %q in the row of %s", f.Name, cell, row[0])
				}
			}
		}
	}
	f := named(t, Figures(d), "mem-consumers-64")
	if want := "withheld, the machine was busy"; !strings.Contains(f.Refusal, want) {
		t.Errorf("the refusal is %q, want the reason %q in it", f.Refusal, want)
	}
}

// TestFiguresShowEveryCell holds that no cell of a chart is silently missing: it is in the table, and where it has no value
// a note says why.
func TestFiguresShowEveryCell(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	f := named(t, Figures(d), "mem-consumers-65536")
	want := 0
	for _, r := range d.Backends[0].Matrix.Rows {
		if r.Subject == matrix.Wherry && r.Method == document.Drain && r.Handler == matrix.Zero && r.Payload == 64<<10 &&
			r.Flow != matrix.Publish && r.Flow != matrix.PublishBatch {
			want++
		}
	}
	if len(f.Table.Rows) != want || want == 0 {
		t.Errorf("the table has %d rows, want %d", len(f.Table.Rows), want)
	}
	for _, note := range []string{
		"n/s: dead letter: window too short, 0.62 s, and a second is the least.",
		"n/s: pipeline: unsupported, flows: a pipeline of steps.",
	} {
		if !slices.Contains(f.Notes, note) {
			t.Errorf("no note is %q; the notes are %q", note, f.Notes)
		}
	}
}

func TestLatencyLeavesOutWhatWasNotSustained(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	f := named(t, Figures(d), "latency")
	if len(f.Table.Rows) != 1 || !strings.Contains(f.Table.Rows[0][0], "1 consumer, 25 k/s") {
		t.Errorf("the table is %q, want one row: the highest rate that one consumer sustained", f.Table.Rows)
	}
	ladder := named(t, Figures(d), "mem-latency-64")
	if want := "n/s: 100 k/s: not sustained, its percentiles would be those of a backlog."; !slices.Contains(ladder.Notes, want) {
		t.Errorf("no note is %q; the notes are %q", want, ladder.Notes)
	}
	for i := range d.Backends[0].Matrix.Rows {
		if l := d.Backends[0].Matrix.Rows[i].Load; l != nil {
			l.PeakLag, l.Sustained, l.Latency, l.FromSend = l.Published, false, nil, nil
		}
	}
	for _, name := range []string{"latency", "mem-latency-64", "mem-batch-latency"} {
		if f := named(t, Figures(d), name); f.Refusal == "" {
			t.Errorf("%s is drawn, and no rung was sustained", name)
		}
	}
	refusal := named(t, Figures(d), "latency").Refusal
	if want := "mem, 64 B: 1 consumer, 500/s: reached 100.0 %, at most 5,000 waiting; "; !strings.Contains(refusal, want) {
		t.Errorf("the refusal is %q, want the account of each rung in it: %q", refusal, want)
	}
}

// TestNotesOfOneCellNameIt has a note of one rung, which names its rate, and one of every rung, which names none.
func TestNotesOfOneCellNameIt(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	said := false
	for i := range d.Backends[0].Matrix.Rows {
		r := &d.Backends[0].Matrix.Rows[i]
		if r.Load == nil || r.NotShown != nil {
			continue
		}
		r.Notes = []string{"said of every rung"}
		if r.Rate == 500 && r.Consumers == 1 && r.Flow == matrix.Parallel {
			r.Notes, said = append(r.Notes, "said of one"), true
		}
	}
	if !said {
		t.Fatal("the sample has no rung of 500/s")
	}
	notes := named(t, Figures(d), "mem-latency-64").Notes
	for _, want := range []string{"Note: said of every rung.", "Note: 500/s: said of one."} {
		if !slices.Contains(notes, want) {
			t.Errorf("no note is %q; the notes are %q", want, notes)
		}
	}
}

func TestPairsAreNotPassedOver(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	none := named(t, Figures(d), "mem-overhead").Refusal
	d.Backends[0].Pairs = &document.Part{}
	if some := named(t, Figures(d), "mem-overhead").Refusal; some == none || some == "" {
		t.Errorf("with pairs the refusal is %q, want another than %q", some, none)
	}
}

func TestFindingsContainEveryRow(t *testing.T) {
	t.Parallel()
	f := named(t, Figures(sample.Document()), "mem-batch")
	found := regexp.MustCompile(`^Over (\d+) cells that were measured in turn, batch reached ([\d.]+)× to ([\d.]+)× of the rate of parallel\.$`).
		FindStringSubmatch(strings.Join(f.Findings, "\n"))
	if found == nil {
		t.Fatalf("the findings are %q, want the range of the ratio", f.Findings)
	}
	low, high := number(t, found[2]), number(t, found[3])
	rows := 0
	for _, row := range f.Table.Rows {
		if ratio, ok := strings.CutSuffix(row[3], "×"); ok {
			rows++
			if v := number(t, ratio); v < low || v > high {
				t.Errorf("%s: the ratio %v is outside %v to %v", row[0], v, low, high)
			}
		}
	}
	if want := strconv.Itoa(rows); found[1] != want || rows == 0 {
		t.Errorf("the finding is over %s cells, want the %s of the table", found[1], want)
	}
}

// TestVersusIsOfOneTurn has a ratio that is not the quotient of the medians, and a document that was not measured in turn.
func TestVersusIsOfOneTurn(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]string{"mem-batch": matrix.Batch, "mem-sequenced": matrix.Sequence} {
		d := sample.Document()
		m := d.Backends[0].Matrix
		for i := range m.Ratios {
			if r := &m.Ratios[i]; r.Of.Flow == other && r.To.Flow == matrix.Parallel {
				r.Low, r.Median, r.High, r.Rounds = 7, 8, 9, 3
			}
		}
		f := named(t, Figures(d), name)
		for _, row := range f.Table.Rows {
			if !slices.Equal(row[3:], []string{"8×", "7×", "9×", "3"}) {
				t.Errorf("%s: %q, want the ratio of the rounds", name, row)
			}
		}
		m.Ratios = nil
		f = named(t, Figures(d), name)
		if want := "No cell of " + other + " was measured in turn with that of parallel, so nothing can be said of their ratio."; !slices.Contains(f.Findings, want) {
			t.Errorf("%s: the findings are %q", name, f.Findings)
		}
		for _, row := range f.Table.Rows {
			if !strings.HasPrefix(row[3], "~") || strings.Join(row[4:], "") != "" {
				t.Errorf("%s: %q, want the mark of cells that were measured apart", name, row)
			}
		}
	}
}

func TestCaptionHasProvenance(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	d.Backends[0].Matrix.Provenance.Dirty, d.Backends[0].Matrix.Provenance.Quick = true, true
	caption := named(t, Figures(d), "mem-payload").Caption
	for _, want := range []string{
		"Sample CPU @ 2.50GHz", "2 cores", "GOMAXPROCS 2", "Go 1.26.8", "0123456789 with changes", "2026-12-01", "in process",
		"a quick run, whose figures are no results",
	} {
		if !strings.Contains(caption, want) {
			t.Errorf("the caption %q lacks %q", caption, want)
		}
	}
	if strings.Contains(caption, "unknown") {
		t.Errorf("the caption %q says what is not known", caption)
	}
}

func TestNotesInThePictureAreFew(t *testing.T) {
	t.Parallel()
	f := Figure{Notes: []string{"n/s: a", "n/s: b", "n/s: c", "n/s: d", "n/s: e", "n/s: f"}}
	lines := f.noteLines(width)
	if last := lines[len(lines)-1].text; len(lines) != 5 || last != "And 2 more notes, under the table." {
		t.Errorf("%d lines, the last %q, want four notes and how many more", len(lines), last)
	}
	f.Notes = f.Notes[:5]
	if lines := f.noteLines(width); len(lines) != 5 || lines[4].text != "n/s: e" {
		t.Errorf("five notes give %d lines, want all of them", len(lines))
	}
}

// TestHighestRung holds that fewer consumers come before a higher rate, in any order of the rows.
func TestHighestRung(t *testing.T) {
	t.Parallel()
	rung := func(consumers, rate int) *document.Row {
		return &document.Row{
			Cell: document.Cell{Consumers: consumers, Rate: rate},
			Load: &document.Load{Sustained: true, Latency: &document.Quantiles{}},
		}
	}
	backlog := rung(1, 100_000)
	backlog.Load.Sustained = false
	want := rung(1, 5_000)
	s := selection{rows: []*document.Row{rung(4, 25_000), rung(1, 500), backlog, want, rung(4, 100_000)}}
	for range s.rows {
		s.rows = append(s.rows[1:], s.rows[0])
		if got := highestRung(s); got != want {
			t.Errorf("got %d consumers at %d/s, want 1 at 5000", got.Consumers, got.Rate)
		}
	}
}

// TestRatiosSayWhatTheyLack has one cell of a peer without a value, and then none with one.
func TestRatiosSayWhatTheyLack(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	f := named(t, Figures(d), "mem-ratio-shove")
	if !slices.ContainsFunc(f.Notes, func(n string) bool {
		return strings.HasPrefix(n, "n/s: shove, ") && strings.Contains(n, "64 KiB, 8 consumers") && strings.HasSuffix(n, ": not measured, cargo is not installed.")
	}) {
		t.Errorf("the notes are %q", f.Notes)
	}
	peers := d.Backends[0].Peers
	for i := range peers.Rows {
		if r := &peers.Rows[i]; r.Subject == "shove" {
			r.Runs, r.Load, r.NotShown = nil, nil, &document.Reason{Code: document.NotMeasured, Text: "cargo is not installed"}
		}
	}
	peers.Derive()
	f = named(t, Figures(d), "mem-ratio-shove")
	if !strings.Contains(f.Refusal, "cargo is not installed") || f.body != nil {
		t.Errorf("without a value of shove the refusal is %q", f.Refusal)
	}
}

// TestWaitsOfBatchesAreAllThere: a pair of rungs of which one was not sustained is in the table, with its reason.
func TestWaitsOfBatchesAreAllThere(t *testing.T) {
	t.Parallel()
	d := sample.Document()
	f := named(t, Figures(d), "mem-batch-latency")
	want := 0
	for i := range d.Backends[0].Matrix.Rows {
		if r := &d.Backends[0].Matrix.Rows[i]; r.Method == document.Offered && r.Flow == matrix.Batch {
			want++
		}
	}
	if len(f.Table.Rows) != want {
		t.Errorf("%d rows, want %d:\n%s", len(f.Table.Rows), want, f.Table.Markdown())
	}
	if !slices.ContainsFunc(f.Notes, func(n string) bool {
		return strings.HasPrefix(n, "n/s: parallel, ") && strings.Contains(n, "not sustained")
	}) {
		t.Errorf("the notes are %q", f.Notes)
	}
}
