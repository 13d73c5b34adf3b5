package wherry

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// A BatchHandler handles many messages in one call. Its outcome is that of every message which was not set by Set. A
// worker calls it one batch at a time. The batch and all it holds are valid until it returns. A panic, or the end of its
// goroutine, is a retry of what it had not set before.
type BatchHandler[T any] func(ctx context.Context, b *MessageBatch[T]) Outcome

// A MessageBatch is what a [BatchHandler] sees: messages in the order they were received. It belongs to the engine and is
// used again after the handler returned.
type MessageBatch[T any] struct {
	batch
	messages []*Message[T] // as many as were ever needed; the first Len are this batch
	live     []int         // the indices of messages that middleware left in, in order
}

// Len returns the number of messages in the batch.
func (b *MessageBatch[T]) Len() int { return len(b.live) }

// Message returns the i-th message, with 0 <= i < Len. It panics when i is out of range.
func (b *MessageBatch[T]) Message(i int) *Message[T] { return b.messages[b.live[i]] }

// All returns an iterator over the index and message of the whole batch. It may be used again until the handler returns.
func (b *MessageBatch[T]) All() iter.Seq2[int, *Message[T]] {
	return func(yield func(int, *Message[T]) bool) {
		for i, at := range b.live {
			if !yield(i, b.messages[at]) {
				return
			}
		}
	}
}

// Values returns an iterator over the decoded values. It may be used again until the handler returns.
func (b *MessageBatch[T]) Values() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, at := range b.live {
			if !yield(b.messages[at].Value) {
				return
			}
		}
	}
}

// Set gives the i-th message an outcome of its own, which replaces the handler's. A later Set of the same message
// replaces an earlier one. It panics when i is out of range.
func (b *MessageBatch[T]) Set(i int, o Outcome) { b.set(b.live[i], o) }

// At returns the i-th message as middleware sees it. It panics when i is out of range.
func (b *MessageBatch[T]) At(i int) AnyMessage { return b.messages[b.live[i]] }

// Skip gives the i-th message an outcome and takes it out of the batch, so that nothing further in sees it; a middleware
// that is further out does, once its next returned. The messages after it move down by one. It panics when i is out of
// range.
func (b *MessageBatch[T]) Skip(i int, o Outcome) {
	at := b.live[i]
	b.live = append(b.live[:i], b.live[i+1:]...)
	b.set(at, o)
}

// whole is next for a middleware that looks at the batch afterwards: what was skipped further in is there again, with the
// outcome it was given. Where it calls next again, what was set in the call before is forgotten, for messages that are in the
// batch still. With none left nothing further in is called.
func (b *MessageBatch[T]) whole(next BatchNext) BatchNext {
	var passed []int
	var c batchCall
	return func(ctx context.Context, ab AnyBatch) Outcome {
		if len(b.live) == 0 {
			return Ack() // each has an outcome of its own
		}
		c.begin(&b.batch, b.live)
		passed = append(passed[:0], b.live...)
		defer func() {
			b.live = append(b.live[:0], passed...)
			c.until = b.sets
		}()
		return next(ctx, ab)
	}
}

func (b *MessageBatch[T]) sealedBatch() {}

// AnyBatch is a [MessageBatch] of any type, as middleware sees it. Only batches of this package implement it.
type AnyBatch interface {
	// Len is the number of messages.
	Len() int
	// At is the i-th message, with 0 <= i < Len.
	At(i int) AnyMessage
	// Set gives the i-th message an outcome of its own, in place of the handler's.
	Set(i int, o Outcome)
	// Outcome is what Set gave the i-th message, and whether it did.
	Outcome(i int) (Outcome, bool)
	// Skip gives the i-th message an outcome and takes it out of the batch; the later ones move down by one. What is
	// further in does not see it. A middleware that is further out does, once its next returned.
	Skip(i int, o Outcome)

	sealedBatch()
}

// Outcome returns what Set gave the i-th message, and whether it did.
func (b *MessageBatch[T]) Outcome(i int) (Outcome, bool) {
	at := b.live[i]
	return b.outcomes[at], b.isSet(at)
}

// batch is the part of a batch that does not depend on its type: an outcome for each message.
type batch struct {
	outcomes []Outcome
	anySet   bool
	setAt    []uint64 // when each was set, counted by sets; 0 is not
	sets     uint64   // goes on from batch to batch
}

func (b *batch) isSet(at int) bool { return b.setAt[at] != 0 }

func (b *batch) set(at int, o Outcome) {
	b.sets++
	b.outcomes[at], b.setAt[at], b.anySet = o, b.sets, true
}

// A batchCall is what a middleware's call of next has set, so that the next call of the same batch begins as it did.
type batchCall struct {
	from, until uint64 // what was set after from, to until
	outcomes    []Outcome
	setAt       []uint64 // before it
}

func (c *batchCall) begin(b *batch, live []int) {
	for _, at := range live {
		// What was set in this batch was set after all calls of the batches before it.
		if n := b.setAt[at]; n > c.from && n <= c.until {
			b.outcomes[at], b.setAt[at] = c.outcomes[at], c.setAt[at]
		}
	}
	c.from = b.sets
	c.outcomes = append(c.outcomes[:0], b.outcomes...)
	c.setAt = append(c.setAt[:0], b.setAt...)
}

func (b *batch) reset(n int) {
	b.outcomes = resize(b.outcomes, n)
	b.setAt = resize(b.setAt, n)
	b.anySet = false
	clear(b.outcomes)
	clear(b.setAt)
}

// resize returns s with n elements, whatever they hold.
func resize[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}

// batchFunc takes deliveries through decoding, middleware and handler. It returns an outcome for each, until the next call,
// or nil and one for all. It calls the bulk's panicked when the handler panics.
type batchFunc func(ctx context.Context, ds []*driver.Delivery, of *bulk) (each []Outcome, all Outcome)

// bindBatch is to a [BatchHandler] what bindHandler is to a [Handler].
func bindBatch[T any](t *topicSpec[T], h BatchHandler[T], c *Consumer, chain []BatchMiddleware) batchFunc {
	b := &MessageBatch[T]{}
	next := BatchNext(func(ctx context.Context, ab AnyBatch) Outcome {
		own, ok := ab.(*MessageBatch[T])
		if !ok {
			panic(fmt.Sprintf("wherry: a middleware passed a %T to a handler of %T", ab, b)) //nolint:forbidigo // Recovered: the batch is retried.
		}
		return h(ctx, own)
	})
	for _, wrap := range slices.Backward(chain) {
		if next = wrap(b.whole(next)); next == nil {
			panic("a middleware returned nil") //nolint:forbidigo // It becomes an error where the lanes are built.
		}
	}
	decode := decoderOf(t.codec)
	return func(ctx context.Context, ds []*driver.Delivery, of *bulk) ([]Outcome, Outcome) {
		b.reset(len(ds))
		of.state = &b.batch
		b.live = b.live[:0]
		for len(b.messages) < len(ds) {
			b.messages = append(b.messages, &Message[T]{codec: t.codec, message: message{consumer: c}})
		}
		for i := 0; i < len(ds); {
			i = b.decodeFrom(i, ds, &decode)
		}
		var rest Outcome
		if len(b.live) > 0 {
			rest = callBatch(ctx, next, b, of.panicked)
		}
		if !b.anySet {
			return nil, rest
		}
		for i := range ds {
			if !b.isSet(i) {
				b.outcomes[i] = rest
			}
		}
		return b.outcomes, rest
	}
}

// decodeFrom decodes ds from number i on, to the end or to one whose codec panics, and returns where the rest begins.
func (b *MessageBatch[T]) decodeFrom(i int, ds []*driver.Delivery, decode *decoder[T]) (rest int) {
	defer func() {
		if v := recover(); v != nil {
			b.set(i, undecodable(ds[i], codecPanic(v)))
			rest = i + 1
		}
	}()
	for ; i < len(ds); i++ {
		m := b.messages[i]
		m.d = ds[i]
		if err := decode.decode(ds[i], &m.Value); err != nil {
			b.set(i, undecodable(ds[i], err))
			continue
		}
		b.live = append(b.live, i)
	}
	return i
}

// callBatch calls next. A panic is a retry of what was not set before it.
func callBatch(ctx context.Context, next BatchNext, b AnyBatch, panicked func(v any) error) (rest Outcome) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if v := recover(); v != nil { // nil is runtime.Goexit, which goes on
			rest = Retry(panicked(v))
		}
	}()
	rest = next(ctx, b)
	returned = true
	return rest
}
