package scenario

import (
	"context"
	"strconv"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
)

// sequenceKeys is the number of keys that the messages of a sequence have in turn.
const sequenceKeys = 1000

// sequence is consume with keys, whose messages are handled in order.
func sequence[T any](ctx context.Context, w Work, l load[T], counted func()) error {
	const name = "sequence"
	sent := uint64(0)
	next := func(dst []byte, _ *[]byte) []byte {
		sent++
		return strconv.AppendUint(append(dst, "key-"...), sent%sequenceKeys, 10)
	}
	s, err := newServiceOn(ctx, newRoomy(w), name, l, wherry.NewKeyedTopic(name, codec.BytesView{}, next))
	if err != nil {
		return err
	}
	if err := s.fill(ctx, w.Ready); err != nil {
		return err
	}
	f := newFinish(w.N)
	none := func(dst []byte, _ *T) []byte { return dst } // Who consumes asks for no key: a message brings its own.
	source := wherry.Sequence(s.broker, wherry.NewKeyedTopic(name, l.codec, none))
	c := wherry.Consume(source, func(context.Context, *wherry.Message[T]) wherry.Outcome {
		f.pass(1)
		return wherry.Ack()
	}, lanes(w)...)
	return s.run(ctx, c, f, nothing, counted)
}
