package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"charm.land/bubbles/v2/progress"
	"charm.land/lipgloss/v2"

	"github.com/wherryhq/wherry/bench/quantity"
)

// A Display is a Meter for people: a bar on a terminal, and a line for each step that is over. Its methods may be called
// from several goroutines; it draws from one of its own until it is closed.
type Display struct {
	w      io.Writer
	width  int // of the terminal; zero where there is none
	closed chan struct{}
	drawer sync.WaitGroup

	mu       sync.Mutex // guards the fields below, and what is written
	estimate estimate
	name     string
	bar      progress.Model
}

// A bar is this wide, has so much beside it, and is drawn this often. It is left out where the text beside it would have
// less than textWidth.
const (
	barWidth  = 30
	barRest   = len(" ") + 1
	textWidth = 20
	redraw    = 250 * time.Millisecond
)

// NewDisplay writes to w, which is a terminal of that many columns, or no terminal if width is zero. Close ends it.
func NewDisplay(w io.Writer, width int) *Display {
	d := &Display{w: w, width: width, closed: make(chan struct{})}
	if width <= 0 {
		return d
	}
	d.bar = progress.New(progress.WithWidth(barWidth), progress.WithColors(lipgloss.NoColor{}))
	d.drawer.Go(d.draw)
	return d
}

// Plan forgets earlier steps.
func (d *Display) Plan(steps []Step) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.estimate, d.name = estimate{steps: steps}, ""
	if d.width <= 0 && len(steps) > 0 {
		fmt.Fprintf(d.w, "%s, about %s\n", quantity.Count(len(steps), "step"), brief(d.estimate.left(time.Now())))
	}
}

// Begin follows Plan.
func (d *Display) Begin(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.estimate.begin(time.Now())
	d.name = name
	d.paint()
}

// End follows Begin.
func (d *Display) End(result string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.estimate.end(time.Now())
	d.erase()
	fmt.Fprintf(d.w, "%s %s: %s%s\n", d.count(), d.name, result, d.left())
	d.paint()
}

// Close ends the drawing, and erases the bar.
func (d *Display) Close() {
	close(d.closed)
	d.drawer.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
}

// draw keeps the bar moving while a step takes its time.
func (d *Display) draw() {
	ticker := time.NewTicker(redraw)
	defer ticker.Stop()
	for {
		select {
		case <-d.closed:
			return
		case <-ticker.C:
			d.mu.Lock()
			d.paint()
			d.mu.Unlock()
		}
	}
}

// paint draws the bar, if there is one and a step is under way.
func (d *Display) paint() {
	if d.width <= 0 || !d.estimate.running {
		return
	}
	now := time.Now()
	text := fmt.Sprintf("%s %s left, %s", d.count(), brief(d.estimate.left(now)), d.name)
	if room := d.width - barWidth - barRest; room >= textWidth {
		fmt.Fprintf(d.w, "\r%s %-*s", d.bar.ViewAs(d.estimate.share(now)), room, shortened(text, room))
		return
	}
	fmt.Fprintf(d.w, "\r%-*s", d.width-1, shortened(text, d.width-1))
}

func (d *Display) erase() {
	if d.width > 0 {
		fmt.Fprintf(d.w, "\r%s\r", strings.Repeat(" ", d.width-1))
	}
}

func (d *Display) count() string {
	return fmt.Sprintf("[%d/%d]", d.estimate.begun, max(len(d.estimate.steps), d.estimate.begun))
}

// left is what a line says of the time that is left: nothing after the last step.
func (d *Display) left() string {
	if d.estimate.begun >= len(d.estimate.steps) {
		return ""
	}
	return fmt.Sprintf(" (%s left)", brief(d.estimate.left(time.Now())))
}

// brief is a time for people: to the second below ten minutes, to the minute above.
func brief(t time.Duration) string {
	const minutes = 10 * time.Minute
	if t >= minutes {
		return strings.TrimSuffix(t.Round(time.Minute).String(), "0s")
	}
	return t.Round(time.Second).String()
}

// shortened cuts a text to so many letters.
func shortened(text string, letters int) string {
	runes := []rune(text)
	if len(runes) <= letters {
		return text
	}
	if letters < 1 {
		return ""
	}
	return string(runes[:letters-1]) + "…"
}
