package demo

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
)

// maxNotes is how many notes are kept.
const maxNotes = 100

// events takes what consumers tell: latencies go into meters, and what a person should know becomes a note. It is made by
// newEvents.
type events struct {
	begin   time.Time
	meters  map[string]*meter // by group, which none joins later
	started chan struct{}     // closed when all consumers have started

	mu      sync.Mutex // guards the fields below
	waiting int        // consumers that have not started
	notes   []note     // the last of them
	noted   int        // how many there were
}

// note is something that happened.
type note struct {
	At   time.Duration // after the begin
	Text string
}

func newEvents() *events {
	e := &events{begin: time.Now(), meters: make(map[string]*meter), started: make(chan struct{})}
	for _, g := range groups() {
		e.meters[g] = newMeter()
	}
	return e
}

// expect says how many consumers are about to start.
func (e *events) expect(consumers int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting = consumers
}

// observe is the event function of all consumers.
func (e *events) observe(event wherry.Event) {
	switch ev := event.(type) {
	case *wherry.Handled:
		if m := e.meters[ev.Group]; m != nil && ev.Outcome.Kind() == wherry.KindAck {
			m.record(ev.Age)
		}
	case *wherry.Started:
		e.start()
	default:
		if text := textOf(event); text != "" {
			e.note(event.Source().Consumer + " " + text)
		}
	}
}

func (e *events) start() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.waiting--
	if e.waiting == 0 {
		close(e.started)
	}
}

// textOf says in words what a person should know of an event, and nothing of what is counted anyway.
func textOf(event wherry.Event) string {
	switch ev := event.(type) {
	case *wherry.Stalled:
		return "is not ready: " + ev.Cause
	case *wherry.Recovered:
		return fmt.Sprintf("is ready again after %v", ev.After.Round(100*time.Millisecond))
	case *wherry.BrokerAway:
		return fmt.Sprintf("cannot receive: %v", ev.Err)
	case *wherry.BrokerBack:
		return fmt.Sprintf("receives again after %v", ev.After.Round(100*time.Millisecond))
	case *wherry.MoveBlocked:
		return fmt.Sprintf("keeps %s: %v", ev.ID, ev.Err)
	case *wherry.SettleFailed:
		return fmt.Sprintf("could not settle %d: %v", ev.Count, ev.Err)
	case *wherry.ExtendFailed:
		return fmt.Sprintf("could not extend %d leases, %d lost: %v", ev.Count, ev.Lost, ev.Err)
	case *wherry.HoldLost:
		return fmt.Sprintf("cannot receive from %s: %v", ev.Hold, ev.Err)
	case *wherry.Overran:
		return fmt.Sprintf("is at %s for %v already", ev.ID, ev.Took.Round(100*time.Millisecond))
	case *wherry.Panicked:
		return fmt.Sprintf("panicked at %s: %v", ev.ID, ev.Value)
	case *wherry.Abandoned:
		return fmt.Sprintf("left %d handlers that did not return", len(ev.IDs))
	case *wherry.Stopped:
		if _, left := errors.AsType[*wherry.AbandonedError](ev.Err); ev.Err != nil && !left {
			return fmt.Sprintf("ended: %v", ev.Err)
		}
	}
	return ""
}

func (e *events) note(text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.notes = append(e.notes, note{time.Since(e.begin), text})
	e.noted++
	if len(e.notes) > maxNotes {
		e.notes = e.notes[1:]
	}
}

// since returns the notes after the first n that there ever were, as far as they are kept, and how many there are now.
func (e *events) since(n int) (notes []note, now int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	fresh := min(e.noted-n, len(e.notes))
	return append(notes, e.notes[len(e.notes)-fresh:]...), e.noted
}
