package terminal

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/bench/quantity"
)

// notShown stands in the place of a value that there is not. The reason stands below the table.
const notShown = "n/s"

// Show writes a whole document: the host, and for each part where it comes from, tables of its values, and the reasons
// for those that are missing.
func Show(w io.Writer, d *document.Document) {
	h := &d.Host
	fmt.Fprintf(w, "%s, %s", h.CPU, h.Architecture)
	if h.FrequencyMHz > 0 {
		fmt.Fprintf(w, ", %d MHz", h.FrequencyMHz)
	}
	fmt.Fprintf(w, ", %d logical cores on %s, %s of memory (speed %s)\n%s, kernel %s\n", h.LogicalCores,
		cores(h.PhysicalCores), quantity.Size(float64(h.MemoryBytes)), h.MemorySpeed, h.OS, h.Kernel)
	for i := range d.Backends {
		b := &d.Backends[i]
		for _, name := range document.PartNames() {
			if part := b.Part(name); part != nil {
				showPart(w, b.Name+" "+name, part)
			}
		}
	}
}

func cores(physical int) string {
	if physical == 0 {
		return "an unknown number of physical ones"
	}
	return strconv.Itoa(physical) + " physical"
}

func showPart(w io.Writer, title string, p *document.Part) {
	from := &p.Provenance
	fmt.Fprintf(w, "\n%s\n", strings.ToUpper(title))
	fmt.Fprintf(w, "wherry %s, commit %s%s, %s, %s, GOMAXPROCS %d, codec %s, broker %s\n", from.Version, from.Commit,
		dirty(from.Dirty), from.Date, from.Go, from.GOMAXPROCS, from.Codec, from.Broker)
	fmt.Fprintf(w, "built with %s; children have%s\n", from.BuildFlags, environment(from))
	if from.Valgrind != "none" {
		fmt.Fprintf(w, "counted by valgrind %s\n", from.Valgrind)
	}
	if from.Quick {
		fmt.Fprintln(w, "A QUICK RUN, WHOSE FIGURES ARE NO RESULTS")
	}
	for _, kind := range []struct {
		methods []document.Method
		grid    func(rows []document.Row) grid
	}{
		{[]document.Method{document.Drain, document.Live, document.Paired}, timed},
		{[]document.Method{document.Offered}, offered},
		{[]document.Method{document.Count}, counted},
	} {
		rows := slices.DeleteFunc(slices.Clone(p.Rows), func(r document.Row) bool {
			return !slices.Contains(kind.methods, r.Method)
		})
		if len(rows) > 0 {
			fmt.Fprintln(w)
			g := kind.grid(rows)
			g.write(w)
		}
	}
	if len(p.Ratios) > 0 {
		fmt.Fprintln(w)
		g := ratios(p.Ratios)
		g.write(w)
	}
	remarks(w, p.Rows)
}

// environment is what changes figures and was set, or kept, from the processes that were measured.
func environment(from *document.Provenance) string {
	if len(from.Environment) == 0 {
		return " nothing set that changes figures"
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(from.Environment)) {
		text.WriteString(" " + name + "=" + from.Environment[name])
	}
	return text.String()
}

func dirty(is bool) string {
	if is {
		return " with changes"
	}
	return ""
}

// remarks are what the tables have no room for: the reasons of missing values and the notes, those of the same text together.
func remarks(w io.Writer, rows []document.Row) {
	var order []string
	groups := map[string][]string{}
	add := func(text, cell string) {
		if groups[text] == nil {
			order = append(order, text)
		}
		groups[text] = append(groups[text], cell)
	}
	for i := range rows {
		r := &rows[i]
		name := string(r.Method) + " " + r.String()
		if r.NotShown != nil {
			add(fmt.Sprintf("%s  %s, %s", notShown, r.NotShown.Code, r.NotShown.Text), name)
		}
		if r.Load != nil && r.Load.Withheld != nil {
			add(fmt.Sprintf("%s  from the intended time: %s, %s", notShown, r.Load.Withheld.Code, r.Load.Withheld.Text), name)
		}
		for _, note := range r.Notes {
			add("note "+note, name)
		}
	}
	if len(order) > 0 {
		fmt.Fprintln(w)
	}
	for _, text := range order {
		fmt.Fprintf(w, "%s: %s\n", text, some(groups[text]))
	}
}

// named is how many cells a remark names. Of more it names the first, and tells how many there are.
const named = 4

func some(cells []string) string {
	if len(cells) <= named {
		return strings.Join(cells, "; ")
	}
	return fmt.Sprintf("%s, and %d more rows", cells[0], len(cells)-1)
}

// cellHeaders are the columns of what cell writes.
var cellHeaders = []string{"method", "subject", "flow", "payload", "consumers", "workers", "prefetch", "handler", "codec", "procs"}

func cell(method document.Method, c document.Cell) []string {
	return []string{
		string(method), c.Subject, c.Scenario(), quantity.Size(float64(c.Payload)), number(c.Consumers), number(c.Workers),
		number(c.Prefetch), c.Handler, c.Codec, number(c.Procs),
	}
}

// number is empty for zero, which in a cell means that it is no lever.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func timed(rows []document.Row) grid {
	g := grid{
		headers: append(slices.Clone(cellHeaders), "median/s", "best/s", "worst/s", "CPU/msg", "peak", "scaling", "busiest", "stop", "runs"),
		texts:   len(cellHeaders),
	}
	for i := range rows {
		r := &rows[i]
		line := append(cell(r.Method, r.Cell), notShown, "", "", "", "", "", "", "", "")
		if s := r.Summary; s != nil {
			values := line[len(cellHeaders):]
			copy(values, []string{
				quantity.Rate(s.Median), quantity.Rate(s.Best), quantity.Rate(s.Worst), quantity.Duration(s.CPU),
				quantity.Size(float64(s.PeakRSS)), "", "", "", strconv.Itoa(len(r.Runs)),
			})
			if s.Efficiency != nil {
				values[5] = quantity.Times(*s.Efficiency)
				if matrix.Implausible(r) {
					values[5] += "?"
				}
			}
			if r.Extra != nil {
				values[6] = quantity.Number(r.Extra.BusiestShare*100) + " %"
				values[7] = quantity.Duration(float64(r.Extra.StopNS))
			}
		}
		g.rows = append(g.rows, line)
	}
	return g
}

func offered(rows []document.Row) grid {
	g := grid{
		headers: append(slices.Clone(cellHeaders), "rate/s", "reached", "sustained", "p50", "p95", "p99", "p99.9", "max",
			"p99 from send", "pacer p99", "CPU/msg with pacer"),
		texts: len(cellHeaders),
	}
	for i := range rows {
		r := &rows[i]
		line := append(cell(r.Method, r.Cell), quantity.Whole(float64(r.Rate)), notShown, "", "", "", "", "", "", "", "", "")
		if l := r.Load; l != nil {
			values := line[len(cellHeaders)+1:]
			values[0], values[1] = quantity.Number(l.Reached*100)+" %", "no"
			if l.Sustained {
				values[1] = "yes"
			}
			if q := l.Latency; q != nil {
				for j, ns := range []int64{q.P50, q.P95, q.P99, q.P999, q.Max} {
					values[2+j] = quantity.Duration(float64(ns))
				}
			}
			values[7], values[8] = p99(l.FromSend), p99(l.Lateness)
			values[9] = quantity.Duration(float64(l.CPUNS) / float64(max(l.Published, 1)))
		}
		g.rows = append(g.rows, line)
	}
	return g
}

func p99(q *document.Quantiles) string {
	if q == nil {
		return ""
	}
	return quantity.Duration(float64(q.P99))
}

func counted(rows []document.Row) grid {
	g := grid{
		headers: append(slices.Clone(cellHeaders), "instr/msg", "spread", "allocs/msg", "bytes/msg", "more than", "instr more", "runs"),
		texts:   len(cellHeaders),
	}
	for i := range rows {
		r := &rows[i]
		line := append(cell(r.Method, r.Cell), notShown, "", "", "", "", "", "")
		if c := r.Code; c != nil {
			values := line[len(cellHeaders):]
			copy(values, []string{
				quantity.Number(c.Instructions), "±" + quantity.Number(c.Spread*100) + " %", quantity.Number(c.Allocations),
				quantity.Number(c.Bytes), c.Over, "", strconv.Itoa(len(c.Runs)),
			})
			if c.More != nil {
				values[5] = quantity.Number(*c.More)
			}
		}
		g.rows = append(g.rows, line)
	}
	return g
}

func ratios(all []document.Ratio) grid {
	g := grid{headers: []string{"rate of", "over that of", "median", "low to high", "which is"}, texts: 2}
	for i := range all {
		r := &all[i]
		g.rows = append(g.rows, []string{
			r.Of.String(), r.To.String(), quantity.Times(r.Median),
			quantity.Number(r.Low) + " to " + quantity.Number(r.High), r.Interval(),
		})
	}
	return g
}
