package wherry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/wherryhq/wherry/driver"
)

const (
	shortestLook = 10 * time.Millisecond
	longestLook  = time.Second
	// shortestAsk is how often the broker is asked what waits, at the most.
	shortestAsk = time.Second
)

// watch looks at the consumer every so often: whether a handler overran its timeout, and whether it makes progress while
// work waits.
func (r *running) watch(ctx context.Context) {
	spec := &r.c.spec
	limit := min(spec.stallAfter, spec.timeout)
	every := min(max(limit/8, shortestLook), max(limit/60, longestLook))
	t := time.NewTicker(every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			r.look(time.Now())
		case <-ctx.Done():
			return
		}
	}
}

func (r *running) look(now time.Time) {
	r.reportOverruns(now)
	for _, w := range r.crew.now() {
		w.reach(now)
	}
	depth, known := r.waiting(now)
	held, handled, busy := r.work(now)
	ready := depth.Ready > 0
	if ready && held == 0 && !r.paused.Load() { // what is paused is not stalled, whatever waits
		ready = r.mayReceive(handled)
	}

	h := &r.health
	h.mu.Lock()
	// A question that failed does not say that nothing waits: the answer before it stands for a while.
	waits := held > 0 || ready && (known || now.Sub(h.answered) < h.stallAfter)
	h.backlog, h.oldest = -1, 0
	if known {
		h.backlog = depth.Ready
		if !depth.Oldest.IsZero() {
			h.oldest = now.Sub(depth.Oldest)
		}
	}
	idle := !waits && (h.stalled.IsZero() || !h.unanswered)
	moved := handled != h.handled || idle || !h.awaySince.IsZero() || r.paused.Load() || h.state != StateRunning
	if h.worked && handled >= h.handled {
		h.pace.add(handled-h.handled, now.Sub(h.looked))
	}
	// An answer of the broker that is used again does not say that something waits still.
	h.worked = (held > 0 || known && waits && h.asked.Equal(now)) && h.state == StateRunning && !r.paused.Load()
	h.looked = now
	h.handled = handled
	var recovered time.Duration
	if moved {
		h.progress = now
		if !h.stalled.IsZero() {
			recovered = max(now.Sub(h.stalled), 1)
			h.stalled, h.cause, h.detail = time.Time{}, "", ""
		}
	}
	late := now.Sub(h.progress)
	begins := late >= h.stallAfter && h.stalled.IsZero()
	h.mu.Unlock()

	if recovered > 0 {
		r.emit(&Recovered{Origin: r.origin, After: recovered})
	}
	if !begins {
		return
	}
	cause, detail, stack := r.cause(busy)
	h.mu.Lock()
	h.stalled, h.cause, h.detail = now, cause, detail
	h.mu.Unlock()
	if detail != "" {
		cause += ": " + detail
	}
	r.emit(&Stalled{Origin: r.origin, Cause: cause, Stack: stack, For: late})
}

// waiting is what waits at the broker, by an answer that is not much older than a stall would be noticed late.
func (r *running) waiting(now time.Time) (driver.Depth, bool) {
	h := &r.health
	h.mu.Lock()
	fresh := now.Sub(h.asked) < min(max(h.stallAfter/8, shortestAsk), h.stallAfter)
	depth, known := h.depth, h.depthKnown
	h.mu.Unlock()
	if fresh {
		return depth, known
	}
	return r.ask(now)
}

// ask asks the broker what waits, and notes the answer for all who want to know. Without an answer it returns the last one,
// which is not known to be true.
func (r *running) ask(now time.Time) (driver.Depth, bool) {
	depth, err := r.depth()
	h := &r.health
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked, h.depthKnown = now, err == nil
	h.mayKnown = false
	h.unanswered = err != nil && !errors.Is(err, errors.ErrUnsupported)
	if err == nil {
		h.depth, h.answered = depth, now
	}
	return h.depth, h.depthKnown
}

// work says how much the workers hold that could go on, how much was done, and which lane has been at it longest.
func (r *running) work(now time.Time) (held int, handled uint64, oldest *lane) {
	var since driver.Stamp
	workers, handled := r.crew.all()
	for _, w := range workers {
		w.mu.Lock()
		w.recallAllLocked()
		held += w.unsettled
		if w.seq != nil {
			held -= w.seq.restingLocked(now)
		}
		if w.tx != nil {
			handled += w.tx.committed() // what is handled again and again is no progress
		} else {
			handled += w.handled
		}
		for _, l := range w.lanes {
			if l.started == 0 && l.bulk != nil && now.Before(l.bulk.due) {
				held -= len(l.bulk.held)
			}
			if l.started != 0 && (since == 0 || l.started < since) {
				since, oldest = l.started, l
			}
		}
		w.mu.Unlock()
	}
	return held, handled, oldest
}

// publishFrame is how a stack names a publish that waits.
const publishFrame = "wherry.(*Publisher["

// cause says why a consumer makes no progress, with the text of the error or the stack behind it.
func (r *running) cause(busy *lane) (text, detail, stack string) {
	if blocked, refusal := r.blockedMoves(); blocked != "" {
		return blocked, refusal, ""
	}
	if missing, why, _ := r.missingWorkers(); missing != "" && busy == nil {
		return missing, why, ""
	}
	if busy != nil {
		w := busy.w
		w.mu.Lock()
		w.recallAllLocked()
		id, started, goroutine := "", busy.started, busy.goroutine
		if held := busy.heldLocked(); len(held) > 0 {
			id = held[0].ID.String()
		}
		w.mu.Unlock()
		if started != 0 {
			took := time.Since(r.clock.time(started)).Round(time.Millisecond)
			who := "handler"
			if r.loops() {
				who = "loop"
			}
			text, stack = fmt.Sprintf("%s blocked for %v on message %s", who, took, id), stackOf(goroutine)
			if strings.Contains(stack, publishFrame) {
				text += ", publishing: the queue that it publishes to is full, or its broker is away"
			}
			return text, "", stack
		}
	}
	for _, w := range r.crew.now() {
		if waiter, ok := w.recv.(driver.Waiter); ok {
			if why := waiter.Waiting(); why != "" {
				return why, "", ""
			}
		}
		w.mu.Lock()
		starved := w.starved
		w.mu.Unlock()
		if crowded := r.crowded(); crowded != "" {
			return crowded, "", ""
		}
		if starved {
			return fmt.Sprintf("credit exhausted: %d messages unsettled", w.credit), "", ""
		}
	}
	return "work waits at the broker and none is delivered", "", ""
}

// reportOverruns tells of each handler that is past its timeout, once. Of very many at once a few have their stacks.
func (r *running) reportOverruns(now time.Time) {
	timeout := r.c.spec.timeout
	if timeout == never {
		return
	}
	var over []*Overran
	var goroutines []int64
	for _, w := range r.crew.now() {
		w.mu.Lock()
		w.recallAllLocked()
		for _, l := range w.lanes {
			if l.started == 0 || l.overran || now.Sub(r.clock.time(l.started)) < timeout {
				continue
			}
			l.overran = true
			e := &Overran{Origin: r.origin, Took: now.Sub(r.clock.time(l.started))}
			if held := l.heldLocked(); len(held) > 0 {
				e.ID = held[0].ID.String()
			}
			over, goroutines = append(over, e), append(goroutines, l.goroutine)
		}
		w.mu.Unlock()
	}
	stacks := stacksOf(goroutines)
	for i, e := range over {
		e.Stack = stacks[goroutines[i]]
		r.emit(e)
	}
}
