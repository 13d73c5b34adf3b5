package demo

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/wherryhq/wherry/cmd/wherry/internal/interrupt"
)

// showPlain writes a line for each second until done is closed or the user quits, and what happens in between at once.
func showPlain(c *camera, in *interrupt.Requests, done <-chan struct{}, out io.Writer) {
	t := time.NewTicker(time.Second)
	defer t.Stop()
	p := plain{camera: c, out: out}
	stopping := in.Stopping()
	for {
		select {
		case <-t.C:
			p.second()
		case <-stopping:
			stopping = nil
			fmt.Fprintln(out, "stopping: no more orders, and what is under way is finished first; Ctrl-C again quits at once")
		case <-done:
			p.news()
			return
		case <-in.Quitting():
			return
		}
	}
}

// plain writes lines.
type plain struct {
	camera *camera
	out    io.Writer
	noted  int // notes that were written
}

// news writes the notes that are new.
func (p *plain) news() {
	var notes []note
	notes, p.noted = p.camera.service.events.since(p.noted)
	for _, n := range notes {
		fmt.Fprintf(p.out, "%5.1fs %s\n", n.At.Seconds(), clean(n.Text))
	}
}

func (p *plain) second() {
	p.news()
	shot := p.camera.take()
	fmt.Fprintln(p.out, plainLine(&shot))
}

// plainLine is a snapshot in one line.
func plainLine(s *snapshot) string {
	t := &s.Totals
	var b strings.Builder
	fmt.Fprintf(&b, "%5.1fs published=%d rate=%d/s handled=%d retried=%d dead=%d open=%d", s.Elapsed.Seconds(),
		t.Published, int(s.Rate+0.5), t.Handled, t.Retried, t.Dead, t.Open)
	b.WriteString("  p99:")
	for _, g := range s.Groups {
		fmt.Fprintf(&b, " %s=%s", g.Group, strings.ReplaceAll(short(g.Latency.P99), " ", ""))
	}
	return b.String() + "  " + healthWord(s)
}

// healthWord is the state of all groups together.
func healthWord(s *snapshot) string {
	var names []string
	for _, g := range s.unready() {
		names = append(names, g.Group)
	}
	switch {
	case len(names) > 0:
		return "not ready: " + strings.Join(names, ",")
	case s.Phase == publishing:
		return "ready"
	default:
		return s.Phase.String()
	}
}
