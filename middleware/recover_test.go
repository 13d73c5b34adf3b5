package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

var errBoom = errors.New("boom")

func TestRecoverDecides(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(context.Context, *wherry.Message[string]) wherry.Outcome { return crash(errBoom) }
		decide := middleware.Recover(func(ctx context.Context, m wherry.AnyMessage, p *wherry.PanicError) wherry.Outcome {
			assert.NoError(t, ctx.Err())
			assert.ErrorIs(t, p, errBoom)
			assert.True(t, strings.Contains(string(p.Stack), "TestRecoverDecides"), "the stack is not the handler's")
			r.note(m.ID())
			return wherry.Reject(p)
		})
		panicked := wherry.OnEvent(func(e wherry.Event) {
			if _, ok := e.(*wherry.Panicked); ok {
				t.Error("the engine saw the panic")
			}
		})
		r.publish("a")
		r.run(time.Second, r.consume(h, decide, panicked))
		assert.Equal(t, r.log.take(), []string{"a 0s"})
		letters := r.dead()
		assert.Equal(t, len(letters), 1)
		assert.Equal(t, letters[0].Reason, wherry.ReasonRejected)
		assert.Equal(t, letters[0].LastError, "handler panicked: boom")
	})
}

// What does not panic passes as it is, and so does the end of a goroutine, which is no panic.
func TestRecoverLeavesTheRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(fmt.Sprintf("%s %d", m.Value, m.Attempt()))
			if m.Value == "exit" && m.Attempt() == 1 {
				runtime.Goexit()
			}
			return wherry.Ack()
		}
		decide := middleware.Recover(func(context.Context, wherry.AnyMessage, *wherry.PanicError) wherry.Outcome {
			t.Error("there was no panic")
			return wherry.Ack()
		})
		r.publish("fine", "exit")
		once := wherry.RetryPolicy{Jitter: wherry.NoJitter}
		r.run(time.Second, r.consume(h, decide, wherry.RetryWith(once)))
		assert.Equal(t, r.log.take(), []string{"fine 1 0s", "exit 1 0s", "exit 2 200ms"})
	})
}

// It catches what middleware further in does, and not what is further out.
func TestRecoverOnlyInside(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		bad := wherry.Use(func(next wherry.Next) wherry.Next {
			return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome {
				if m.Attempt() == 1 {
					return crash(errBoom)
				}
				return next(ctx, m)
			}
		})
		decide := middleware.Recover(func(context.Context, wherry.AnyMessage, *wherry.PanicError) wherry.Outcome {
			r.note("decided")
			return wherry.Ack()
		})
		events := wherry.OnEvent(func(e wherry.Event) {
			if _, ok := e.(*wherry.Panicked); ok {
				r.note("engine")
			}
		})
		h := func(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }
		r.publish("a")
		r.run(time.Second, r.consume(h, decide, bad, events))
		assert.Equal(t, r.log.take(), []string{"decided 0s"})
		r.publish("b")
		r.run(time.Second, r.consume(h, bad, decide, events))
		assert.Equal(t, r.log.take()[0], "engine 1s")
	})
}

func TestRecoverBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			b.Set(0, wherry.Ack())
			return crash(errBoom)
		}
		decide := middleware.RecoverBatch(func(_ context.Context, b wherry.AnyBatch, p *wherry.PanicError) wherry.Outcome {
			assert.ErrorIs(t, p, errBoom)
			b.Set(1, wherry.Ack())
			return wherry.Reject(p)
		})
		r.publish("a", "b", "c", "d")
		r.run(time.Second, r.consumeBatch(h, decide))
		letters := r.dead()
		assert.Equal(t, len(letters), 2)
		assert.Equal(t, letters[0].Value, "c")
		assert.Equal(t, letters[1].Value, "d")
	})
}

func TestRecoverMistakes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		const want = "wherry: consume orders: middleware: recover: the function is nil"
		one := func(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }
		many := func(context.Context, *wherry.MessageBatch[string]) wherry.Outcome { return wherry.Ack() }
		assert.Equal(t, r.consume(one, middleware.Recover(nil)).Run(t.Context()).Error(), want)
		assert.Equal(t, r.consumeBatch(many, middleware.RecoverBatch(nil)).Run(t.Context()).Error(), want)
	})
}
