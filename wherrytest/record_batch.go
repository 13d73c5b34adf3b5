package wherrytest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/wherryhq/wherry"
)

// A BatchRecorder is a batch handler that records its calls. It is made by [RecordBatch], passed to wherry.ConsumeBatch by
// its method Handle, and asked for its calls at any time, from any goroutine.
type BatchRecorder[T any] struct {
	handler wherry.BatchHandler[T]

	mu    sync.Mutex // guards the field below
	calls [][]Call[T]
}

// RecordBatch returns a recorder of the calls of h. A nil h acknowledges every message.
func RecordBatch[T any](h wherry.BatchHandler[T]) *BatchRecorder[T] {
	if h == nil {
		h = func(context.Context, *wherry.MessageBatch[T]) wherry.Outcome { return wherry.Ack() }
	}
	return &BatchRecorder[T]{handler: h}
}

// Handle calls the handler and records the call when it returns or panics. The outcome of a message that the handler
// itself skips is not known to the recorder, which has the handler's for it.
func (r *BatchRecorder[T]) Handle(ctx context.Context, b *wherry.MessageBatch[T]) (o wherry.Outcome) {
	at := time.Now()
	calls := make([]Call[T], b.Len())
	index := make(map[*wherry.Message[T]]int, b.Len())
	for i, m := range b.All() {
		calls[i] = Call[T]{Message: m.Clone(), At: at}
		index[m] = i
	}
	o = wherry.Retry(errPanicked)
	defer func() {
		took := time.Since(at)
		for i := range calls {
			calls[i].Took, calls[i].Outcome = took, o
		}
		for i, m := range b.All() {
			if own, ok := b.Outcome(i); ok {
				calls[index[m]].Outcome = own
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.calls = append(r.calls, calls)
	}()
	return r.handler(ctx, b)
}

// Calls returns the calls so far, each with the messages of its batch, in the order in which they ended.
func (r *BatchRecorder[T]) Calls() [][]Call[T] {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}
