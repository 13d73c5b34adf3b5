package wherrytest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// Quiesce waits until everything that was published to what the test's consumers consume has been handled to its end:
// acknowledged, or in the dead letters. What waits for a retry or a delay is waited for, however long it takes; what no
// consumer consumes is not. It fails the test at once when a consumer ends with an error meanwhile, and when for longer
// than the test's patience nothing happens and nothing is due.
func (t *Test) Quiesce() {
	t.tb.Helper()
	if err := t.wait(t.tb.Context(), t.isQuiet); err != nil {
		t.tb.Fatalf("wherrytest: not quiet: %v%s%s", err, t.leftText(), t.healthText())
	}
}

// Wait is [Test.Quiesce] for tests that go on: it returns what Quiesce fails with, and ctx's cause when ctx ends.
func (t *Test) Wait(ctx context.Context) error { return t.wait(ctx, t.isQuiet) }

// Until waits until cond is true, and fails the test as Quiesce does. cond is asked now and whenever something was sent,
// received or settled, so it should look at counts and recorders and at nothing that changes for other reasons. It is called by
// the test's goroutine alone, one call at a time, so it may use what only that may.
func (t *Test) Until(cond func() bool) {
	t.tb.Helper()
	if cond == nil {
		t.tb.Fatalf("wherrytest: the condition is nil")
	}
	if err := t.wait(t.tb.Context(), cond); err != nil {
		t.tb.Fatalf("wherrytest: the condition did not come true: %v%s%s", err, t.leftText(), t.healthText())
	}
}

// wait returns when cond is true.
func (t *Test) wait(ctx context.Context, cond func() bool) error {
	patience := time.NewTimer(t.spec.patience)
	defer patience.Stop()
	for {
		changed := t.ledger.next()
		patience.Reset(t.patience()) // after next, or the latest change might not count
		if err := t.runError(); err != nil {
			return fmt.Errorf("a consumer ended: %w", err)
		}
		if cond() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-patience.C:
			return fmt.Errorf("nothing happened for %v", t.spec.patience)
		}
	}
}

// patience is how long to wait from now: what is due later is waited for first.
func (t *Test) patience() time.Duration {
	due := t.ledger.lastDue()
	if due == 0 {
		return t.spec.patience
	}
	return max(time.Until(due.Time()), 0) + t.spec.patience
}

// isQuiet reports whether the books are even.
func (t *Test) isQuiet() bool {
	l := t.ledger
	version, quiet := l.idle()
	if !quiet {
		return false
	}
	in, ok := t.broker.inner.(driver.Inspector)
	if !ok || !l.isExact() {
		return l.nothingPending()
	}
	// A broker in process knows exactly. Its answers come one after another: they hold together if nothing was written
	// down between the first and the last.
	for _, s := range l.sources() {
		d, err := in.Depth(t.context(), s)
		if err != nil {
			return l.nothingPending()
		}
		if max(d.Ready, 0)+max(d.Held, 0)+max(d.InFlight, 0) > 0 {
			return false
		}
	}
	after, quiet := l.idle()
	return quiet && after == version
}

// idle reports whether nothing is in hand, and at which version of the books.
func (l *ledger) idle() (version uint64, idle bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy > 0 {
		return l.version, false
	}
	for a := range l.accounts {
		if len(a.hands) > 0 {
			return l.version, false
		}
	}
	return l.version, true
}

// isExact reports whether the broker knows its depths exactly, as one that is in this process does.
func (l *ledger) isExact() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for a := range l.accounts {
		if !a.info.Volatile {
			return false
		}
	}
	return true
}

// openLocked is the places that are consumed.
func (l *ledger) openLocked() map[place]bool {
	open := make(map[place]bool)
	for a := range l.accounts {
		for _, p := range a.places {
			open[p] = true
		}
	}
	return open
}

func (l *ledger) nothingPending() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.openLocked() {
		if len(l.pending[p]) > 0 {
			return false
		}
	}
	return true
}

// sources are those that are consumed, each place once, by name.
func (l *ledger) sources() []driver.Source {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := make(map[place]bool)
	var out []driver.Source
	for a := range l.accounts {
		for _, t := range a.source.Topics {
			// Readers are asked for all together.
			if p := (place{topic: t.Name, group: a.source.Group}); !seen[p] {
				seen[p] = true
				s := a.source
				s.Topics = []driver.Topic{t}
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b driver.Source) int {
		return cmp.Or(cmp.Compare(a.Topics[0].Name, b.Topics[0].Name), cmp.Compare(a.Group, b.Group))
	})
	return out
}

// lastDue is when the last of what is awaited is due, 0 when none has to wait.
func (l *ledger) lastDue() driver.Stamp {
	l.mu.Lock()
	defer l.mu.Unlock()
	due := driver.Stamp(0)
	for a := range l.accounts {
		for _, h := range a.hands {
			due = max(due, h.due)
		}
	}
	for p := range l.openLocked() {
		for _, w := range l.pending[p] {
			due = max(due, w.due)
		}
	}
	return due
}

// leftText says what is under way, a line each; empty when nothing is.
func (t *Test) leftText() string {
	if t.isQuiet() {
		return ""
	}
	l := t.ledger
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	inHand := make(map[end]bool)
	for a := range l.accounts {
		for _, h := range a.hands {
			inHand[end{h.at, h.id}] = true
			state := fmt.Sprintf("received %v ago, attempt %d, not settled", time.Since(h.since).Round(time.Millisecond), h.attempt)
			if wait := time.Until(h.due.Time()); h.due != 0 && wait > 0 {
				state = fmt.Sprintf("attempt %d is due in %v", h.attempt, wait.Round(time.Millisecond))
			}
			lines = append(lines, fmt.Sprintf("%s in %v: %s", h.id, h.at, state))
		}
	}
	for p := range l.openLocked() {
		for g, w := range l.pending[p] {
			if inHand[end{p, g.id}] {
				continue
			}
			state := "waits to be received"
			if wait := time.Until(w.due.Time()); w.due != 0 && wait > 0 {
				state = fmt.Sprintf("is due in %v", wait.Round(time.Millisecond))
			}
			lines = append(lines, fmt.Sprintf("%s in %v: attempt %d %s", g.id, p, g.attempt, state))
		}
	}
	if len(lines) == 0 {
		lines = append(lines, "messages that were not published here, or twice under one id")
	}
	slices.Sort(lines)
	return block(lines)
}

// healthText says how the consumers of the test are, a line each.
func (t *Test) healthText() string {
	var lines []string
	for _, r := range t.runs() {
		for _, one := range r.runners {
			c, ok := one.(healthy)
			if !ok {
				continue
			}
			h := c.Health()
			parts := []string{"consumer " + h.Consumer, string(h.State), h.Cause, h.Detail}
			parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
			lines = append(lines, strings.Join(parts, ": "))
		}
	}
	return block(lines)
}

func block(lines []string) string {
	var b strings.Builder
	for i, line := range lines {
		if i == mostStories {
			fmt.Fprintf(&b, "\n  … and %d more", len(lines)-mostStories)
			break
		}
		b.WriteString("\n  " + line)
	}
	return b.String()
}
