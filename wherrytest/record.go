package wherrytest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
)

// A Call is one call of a recorded handler, with a copy of the message that may be kept. It is the caller's.
type Call[T any] struct {
	*wherry.Message[T]
	Outcome wherry.Outcome // where it panicked, what a panic counts as: a retry
	At      time.Time      // when the handler was called
	Took    time.Duration
}

// A Recorder is a handler that records its calls. It is made by [Record], passed to wherry.Consume by its method Handle,
// and asked for its calls at any time, from any goroutine.
type Recorder[T any] struct {
	handler wherry.Handler[T]

	mu    sync.Mutex // guards the field below
	calls []Call[T]
}

// Record returns a recorder of the calls of h. A nil h acknowledges every message.
func Record[T any](h wherry.Handler[T]) *Recorder[T] {
	if h == nil {
		h = func(context.Context, *wherry.Message[T]) wherry.Outcome { return wherry.Ack() }
	}
	return &Recorder[T]{handler: h}
}

var errPanicked = errors.New("the handler panicked, or ended its goroutine")

// Handle calls the handler and records the call when it returns or panics.
func (r *Recorder[T]) Handle(ctx context.Context, m *wherry.Message[T]) (o wherry.Outcome) {
	call := Call[T]{Message: m.Clone(), At: time.Now(), Outcome: wherry.Retry(errPanicked)}
	defer func() {
		call.Took = time.Since(call.At)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, call)
	}()
	call.Outcome = r.handler(ctx, m)
	return call.Outcome
}

// Calls returns the calls so far in the order in which they ended.
func (r *Recorder[T]) Calls() []Call[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Values returns the values of the calls so far that acknowledged, in the order in which they ended.
func (r *Recorder[T]) Values() []T {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []T
	for i := range r.calls {
		if r.calls[i].Outcome.Kind() == wherry.KindAck {
			out = append(out, r.calls[i].Value)
		}
	}
	return out
}
