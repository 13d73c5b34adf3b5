package scenario

import (
	"context"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// handBatch is the number of messages that a loop by hand receives and settles in one call.
const handBatch = 32

// A handLoop drives the in-process broker without the engine.
type handLoop[T any] struct {
	sender   driver.Sender
	receiver driver.Receiver
	record   []driver.Record
	got      []*driver.Delivery
	settle   []driver.Settlement
	codec    wherry.Codec[T]
	value    *T
}

const handTopic = "by-hand"

func newHandLoop[T any](ctx context.Context, b *mem.Broker, l load[T], batch int) (*handLoop[T], error) {
	topic := driver.Topic{Name: handTopic}
	sender, err := b.OpenSender(ctx, driver.Target{Topic: topic})
	if err != nil {
		return nil, err
	}
	receiver, err := b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{topic}, Prefetch: batch})
	if err != nil {
		return nil, err
	}
	return &handLoop[T]{
		sender: sender, receiver: receiver, codec: l.codec, value: new(T),
		record: []driver.Record{{Body: l.body, ContentType: l.codec.ContentType()}},
		got:    make([]*driver.Delivery, 0, batch), settle: make([]driver.Settlement, 0, batch),
	}, nil
}

// send sends one message.
func (h *handLoop[T]) send(ctx context.Context) error {
	h.record[0].ID.Seq++
	return h.sender.Send(ctx, h.record)
}

// drain receives, decodes and settles as many as one call brings.
func (h *handLoop[T]) drain(ctx context.Context) (int, error) {
	got, err := h.receiver.Receive(ctx, h.got[:0])
	if err != nil {
		return 0, err
	}
	h.settle = h.settle[:0]
	for _, d := range got {
		var zero T
		*h.value = zero
		if err := h.codec.Decode(d.Body, h.value); err != nil {
			return 0, err
		}
		h.settle = append(h.settle, driver.Settlement{Delivery: d, Verdict: driver.Done})
	}
	return len(got), h.receiver.Settle(ctx, h.settle)
}

// drainAll drains n messages that are there.
func (h *handLoop[T]) drainAll(ctx context.Context, n int) error {
	for n > 0 {
		k, err := h.drain(ctx)
		if err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// hand is the loop that somebody would write without the engine: it sends one by one, and receives and settles 32 in a
// call.
func hand[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	b := mem.New(mem.Config{})
	h, err := newHandLoop(ctx, b, l, handBatch)
	if err != nil {
		return err
	}
	for left := w.N; left > 0; {
		some := min(left, handBatch)
		for range some {
			if err := h.send(ctx); err != nil {
				return err
			}
		}
		if err := h.drainAll(ctx, some); err != nil {
			return err
		}
		left -= some
	}
	counted()
	return b.Close(ctx)
}

// handDrain is the receiving half of hand, over messages that wait.
func handDrain[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	b := newRoomy(w)
	h, err := newHandLoop(ctx, b, l, handBatch)
	if err != nil {
		return err
	}
	for range w.Ready {
		if err := h.send(ctx); err != nil {
			return err
		}
	}
	if err := h.drainAll(ctx, w.N); err != nil {
		return err
	}
	counted()
	return b.Close(ctx)
}

// newRoomy is a broker that holds all that is to be ready.
func newRoomy(w Work) *mem.Broker {
	return mem.New(mem.Config{MaxMessages: max(w.Ready, mem.DefaultMaxMessages), MaxBytes: max(w.Ready*1024, mem.DefaultMaxBytes)})
}
