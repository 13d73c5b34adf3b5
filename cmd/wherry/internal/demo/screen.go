package demo

import (
	"fmt"
	"slices"
	"strings"

	"charm.land/lipgloss/v2"
)

// wide is the width from which there is room for the columns that narrow screens go without.
const wide = 110

// styles are how parts of the screen look. Where colours are not wanted or not known, the terminal's own profile takes
// them away.
type styles struct {
	title, dim, good, warn, bad lipgloss.Style
}

func newStyles() styles {
	s := lipgloss.NewStyle
	return styles{
		title: s().Bold(true),
		dim:   s().Faint(true),
		good:  s().Foreground(lipgloss.Green),
		warn:  s().Foreground(lipgloss.Yellow),
		bad:   s().Foreground(lipgloss.Red).Bold(true),
	}
}

// screen draws snapshots. Every line fits the width, and there are no more lines than the height.
type screen struct {
	styles        styles
	width, height int
}

// draw returns the lines of a screen. When there is not room for all, events and dead letters are left out first.
func (v *screen) draw(s *snapshot) string {
	lines, foot := v.head(s), v.foot(s)
	room := func() int { return v.height - len(lines) - len(foot) }
	reserved := 0
	if len(s.Notes) > 0 {
		reserved = min(len(s.Notes), 3) + 2
	}
	lines = append(lines, v.dead(s, room()-reserved)...)
	lines = append(lines, v.events(s, room())...)
	for room() > 0 {
		lines = append(lines, "")
	}
	lines = append(lines, foot...)
	lines = lines[:min(len(lines), max(v.height, 0))]
	for i := range lines {
		lines[i] = fit(lines[i], v.width)
	}
	return strings.Join(lines, "\n")
}

// head is what is always there.
func (v *screen) head(s *snapshot) []string {
	st := &v.styles
	when := clockTime(s.Elapsed)
	if s.Duration > 0 {
		when += " of " + clockTime(s.Duration)
	}
	title, about := " wherry demo", "  orders on the broker in this process"
	state := s.Phase.String() + " " + when
	gap := v.width - 1 - len(title) - len(about) - len(state)
	if gap < 2 {
		about, gap = "", max(v.width-1-len(title)-len(state), 2)
	}
	lines := []string{st.title.Render(title) + st.dim.Render(about) + strings.Repeat(" ", gap) + state, ""}

	t := &s.Totals
	counts := fmt.Sprintf(" published %s (%s)  handled %s  retried %s  dead %s  open %s",
		grouped(t.Published), perSecond(s.Rate), grouped(t.Handled), grouped(t.Retried), grouped(t.Dead), grouped(t.Open))
	repeated := ""
	if t.Duplicated > 0 {
		repeated = st.warn.Render(" duplicated " + grouped(t.Duplicated))
	}
	names := v.row("group", v.columns(), func(c column) string { return c.name }) + "  health"
	lines = append(lines, counts, repeated, st.dim.Render(names))
	for i := range s.Groups {
		lines = append(lines, v.group(&s.Groups[i]))
	}
	lines = append(lines, "")
	if causes := v.causes(s); len(causes) > 0 {
		lines = append(append(lines, causes...), "")
	}
	if len(s.Sales) > 0 {
		lines = append(lines, v.sales(s), "")
	}
	return lines
}

// causes says why groups are not ready, in a line for each cause.
func (v *screen) causes(s *snapshot) []string {
	var causes []string
	groups := make(map[string][]string)
	for _, g := range s.unready() {
		why := g.Health.Cause
		if groups[why] == nil {
			causes = append(causes, why)
		}
		groups[why] = append(groups[why], g.Group)
	}
	for i, why := range causes {
		who := strings.Join(groups[why], ", ")
		if len(groups[why]) == len(s.Groups) {
			who = "all"
		}
		causes[i] = v.styles.bad.Render(" not ready ("+who+"): ") + clean(why)
	}
	return causes
}

// column is a column of the table of groups.
type column struct {
	name  string
	width int
	text  func(g *groupView) string
}

// allColumns are the columns in order.
func allColumns() []column {
	return []column{
		{"handled", 9, func(g *groupView) string { return grouped(g.Handled) }},
		{"rate", 8, func(g *groupView) string { return perSecond(g.Rate) }},
		{"retried", 9, func(g *groupView) string { return grouped(g.Retried) }},
		{"dead", 7, func(g *groupView) string { return grouped(g.Dead) }},
		{"in flight", 11, func(g *groupView) string { return grouped(g.Health.InFlight) }},
		{"waiting", 9, func(g *groupView) string { return grouped(int(max(g.Health.Backlog, 0))) }},
		{"p50", 8, func(g *groupView) string { return short(g.Latency.P50) }},
		{"p90", 9, func(g *groupView) string { return short(g.Latency.P90) }},
		{"p99", 8, func(g *groupView) string { return short(g.Latency.P99) }},
		{"max", 9, func(g *groupView) string { return short(g.Latency.Max) }},
	}
}

// columnsWithout are the columns but those of the given names.
func columnsWithout(names ...string) []column {
	return slices.DeleteFunc(allColumns(), func(c column) bool { return slices.Contains(names, c.name) })
}

// columns are those that there is room for.
func (v *screen) columns() []column {
	if v.width < wide {
		return columnsWithout("waiting", "p90", "max")
	}
	return allColumns()
}

// row is a line of the table.
func (v *screen) row(name string, cs []column, text func(column) string) string {
	var b strings.Builder
	b.WriteString(left(" "+name, 9))
	for _, c := range cs {
		b.WriteString(right(text(c), c.width))
	}
	return b.String()
}

func (v *screen) group(g *groupView) string {
	row := v.row(g.Group, v.columns(), func(c column) string { return c.text(g) })
	look := v.styles.warn
	state := string(g.Health.State)
	switch {
	case g.Health.State == "running" && g.Health.Ready:
		look, state = v.styles.good, "ready"
	case !g.Health.Ready && g.Health.State == "stalled":
		look = v.styles.bad
	}
	return row + "  " + look.Render(state)
}

// sales is what the report's batches come to, for as many countries as fit.
func (v *screen) sales(s *snapshot) string {
	text := fmt.Sprintf(" sales in %s batches:", grouped(s.Batches))
	for _, one := range s.Sales {
		more := fmt.Sprintf("  %s %s", one.Country, grouped(one.Cents/100))
		if len(text)+len(more) > v.width {
			break
		}
		text += more
	}
	return text
}

// dead is the list of dead letters, in so many lines at most.
func (v *screen) dead(s *snapshot, room int) []string {
	if len(s.Reasons) == 0 || room < 3 {
		return nil
	}
	lines := []string{v.styles.title.Render(" dead letters")}
	lines = append(lines, deadLines(s, room-2)...)
	return append(lines, "")
}

// events is the list of the last events, in so many lines at most.
func (v *screen) events(s *snapshot, room int) []string {
	if len(s.Notes) == 0 || room < 3 {
		return nil
	}
	lines := []string{v.styles.title.Render(" events")}
	for _, n := range s.Notes[max(len(s.Notes)-(room-2), 0):] {
		lines = append(lines, v.styles.warn.Render(" "+clockTime(n.At))+"  "+clean(n.Text))
	}
	return append(lines, "")
}

// deadLines writes dead letters by reason, in so many lines at most, of which the last counts the reasons that are left
// out. 0 is no bound.
func deadLines(s *snapshot, most int) []string {
	reasons := s.Reasons
	cut := 0
	if most > 0 && len(reasons) > most {
		reasons = reasons[:most-1]
		for _, r := range s.Reasons[most-1:] {
			cut += r.Count
		}
	}
	var lines []string
	for _, r := range reasons {
		who, text := strings.Join(r.Groups, ", "), clean(r.Text)
		if r.Line > 0 {
			who, text = fmt.Sprintf("line %d", r.Line), text+" ("+who+")"
		}
		lines = append(lines, fmt.Sprintf(" %s %s %s  %s", left(who, 9), left(string(r.Reason), 11), right(grouped(r.Count), 6), text))
	}
	if cut += s.Others; cut > 0 {
		lines = append(lines, fmt.Sprintf(" and %s others", grouped(cut)))
	}
	return lines
}

func (v *screen) foot(s *snapshot) []string {
	text := " Ctrl-C stops: no more orders, and what is under way is finished first."
	if s.Phase == draining {
		text = " Finishing what is under way. Ctrl-C again quits at once, and loses it."
	}
	return []string{v.styles.dim.Render(text)}
}
