package wherry

import (
	"context"
	"fmt"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// A Handler handles one message at a time per lane and says what became of it. It is called from several goroutines when
// the consumer has more than one worker or lane. ctx is valid until it returns; the message's memory too. A ctx that is used after
// that may be the next message's: what outlives the handler derives its own (context.WithoutCancel) before the handler returns. A
// handler that panics has its message retried.
type Handler[T any] func(ctx context.Context, m *Message[T]) Outcome

// Func makes a [Handler] of a plain function: nil acknowledges, an error marked by [Permanent] rejects, any other error
// retries. The value may be kept, unless the topic's codec says that its values are views.
func Func[T any](f func(ctx context.Context, v T) error) Handler[T] {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, m *Message[T]) Outcome {
		err := f(ctx, m.Value)
		if err == nil {
			return Outcome{kind: KindAck}
		}
		return outcomeOf(err)
	}
}

// outcomeOf is the outcome of a handler that reports by error.
func outcomeOf(err error) Outcome {
	if IsPermanent(err) {
		return Reject(err)
	}
	return Retry(err)
}

// laneFunc takes one delivery through decoding, middleware and handler. Each lane has its own: everything it needs was
// built when the lane started, and nothing is built per message.
type laneFunc func(l *lane, d *driver.Delivery) Outcome

// bindHandler is where types end: what it returns no longer knows T, and the engine below it has no type parameters.
func bindHandler[T any](t *topicSpec[T], h Handler[T], c *Consumer, chain []Middleware) laneFunc {
	m := &Message[T]{codec: t.codec, message: message{consumer: c}}
	decode := decoderOf(t.codec)
	if decode.whole == nil && len(chain) == 0 {
		return bindDirect(m, h, decode.reuses)
	}
	next := wrapHandler(m, h, chain)
	if decode.whole == nil {
		return bindWrapped(m, next, decode.reuses)
	}
	return func(l *lane, d *driver.Delivery) Outcome {
		m.d = d
		l.decoding = true
		err := decode.decode(d, &m.Value)
		l.decoding = false
		if err != nil {
			return undecodable(d, err)
		}
		return next(l.ctx, m)
	}
}

// bindDirect is for the most common chain, that of a codec and a handler: what is not there costs nothing.
func bindDirect[T any](m *Message[T], h Handler[T], reuses bool) laneFunc {
	codec := m.codec
	return func(l *lane, d *driver.Delivery) Outcome {
		m.d = d
		if !reuses {
			var zero T
			m.Value = zero
		}
		l.decoding = true
		err := codec.Decode(d.Body, &m.Value)
		l.decoding = false
		if err != nil {
			return undecodable(d, err)
		}
		return h(l.ctx, m)
	}
}

// bindWrapped is bindDirect with middleware. That they share no function is worth 20 instructions a message.
func bindWrapped[T any](m *Message[T], next Next, reuses bool) laneFunc {
	codec, am := m.codec, AnyMessage(m)
	return func(l *lane, d *driver.Delivery) Outcome {
		m.d = d
		if !reuses {
			var none T
			m.Value = none
		}
		l.decoding = true
		err := codec.Decode(d.Body, &m.Value)
		l.decoding = false
		if err != nil {
			return undecodable(d, err)
		}
		return next(l.ctx, am)
	}
}

// wrapHandler is a handler below its middleware.
func wrapHandler[T any](m *Message[T], h Handler[T], chain []Middleware) Next {
	next := Next(func(ctx context.Context, am AnyMessage) Outcome {
		own, ok := am.(*Message[T])
		if !ok {
			panic(fmt.Sprintf("wherry: a middleware passed a %T to a handler of %T", am, m)) //nolint:forbidigo // Recovered: the message is retried.
		}
		return h(ctx, own)
	})
	for _, wrap := range slices.Backward(chain) {
		if next = wrap(next); next == nil {
			panic("a middleware returned nil") //nolint:forbidigo // It becomes an error where the lanes are built.
		}
	}
	return next
}

// undecodable is the outcome of a body that the codec refused.
func undecodable(d *driver.Delivery, err error) Outcome {
	return rejectFor(ReasonUndecodable, &DecodeError{ContentType: d.ContentType, Size: len(d.Body), Err: err})
}

// deliveryDecoder is a codec that decodes more than the body.
type deliveryDecoder[T any] interface {
	decodeDelivery(d *driver.Delivery, v *T) error
}

// A decoder is how deliveries become values, chosen once.
type decoder[T any] struct {
	codec  Codec[T]
	whole  deliveryDecoder[T] // nil for a codec that needs only the body
	reuses bool
}

func decoderOf[T any](c Codec[T]) decoder[T] {
	whole, _ := c.(deliveryDecoder[T])
	return decoder[T]{codec: c, whole: whole, reuses: codecReuses(c)}
}

// decode sets *v, which is zeroed before, unless the codec uses it again.
func (dec *decoder[T]) decode(d *driver.Delivery, v *T) error {
	if !dec.reuses {
		var zero T
		*v = zero
	}
	if dec.whole != nil {
		return dec.whole.decodeDelivery(d, v)
	}
	return dec.codec.Decode(d.Body, v)
}

// bindDecode is decode for callers that nobody recovers for: a codec that panics has refused the body.
func bindDecode[T any](c Codec[T]) func(d *driver.Delivery, v *T) error {
	dec := decoderOf(c)
	return func(d *driver.Delivery, v *T) (err error) {
		defer func() {
			if v := recover(); v != nil {
				err = codecPanic(v)
			}
		}()
		return dec.decode(d, v)
	}
}

func codecPanic(v any) error { return fmt.Errorf("the codec panicked: %v", v) }
