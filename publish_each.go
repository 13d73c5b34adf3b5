package wherry

import (
	"context"
	"iter"
)

// PublishEach is [Publisher.PublishAll] for values with options of their own, [WithID] and [WithOriginal] among them: a bridge
// passes a batch on by it. vs yields each value with its options, which are read before the next value is asked for, and not
// kept; nil is none. Values with a delay and without one may be mixed. Its result is as that of PublishAll: nil, or an error that
// wraps a [*BatchError] with one entry per value that was asked for, in which a mistake in an option concerns its value, and the
// later ones of its key. vs must not be nil.
func (p *Publisher[T]) PublishEach(ctx context.Context, vs iter.Seq2[*T, []MessageOption]) error {
	if p.topic == nil {
		return errNoPublisher
	}
	r := batchRun{core: &p.core, most: p.core.chunk()}
	for v, opts := range vs {
		e := p.core.take()
		if err := p.encode(e, v, opts); err != nil {
			e.keyOf(opts)
			r.failed(e, err)
		} else {
			r.add(ctx, e)
		}
		if ctx.Err() != nil {
			break
		}
	}
	r.flush(ctx)
	if err := r.err(); err != nil {
		return p.core.fail(err)
	}
	return nil
}

// keyOf gives e the key of what could not be encoded, which later ones wait for, wherever among its options the mistake is.
func (e *encoding) keyOf(opts []MessageOption) {
	for i := range opts {
		switch o := &opts[i]; {
		case o.kind == keyOption:
			e.key = append(e.key[:0], o.bytes...)
		case o.kind == originalOption && o.of != nil && len(o.of.Key) > 0:
			e.key = append(e.key[:0], o.of.Key...)
		default:
			continue
		}
		e.dressed = true
	}
}
