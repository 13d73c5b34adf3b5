package middleware

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/wherryhq/wherry"
)

// Recover lets f decide what a panic becomes, of the handler or of middleware further in, and report it. Without it the
// engine recovers all the same: it reports the panic as [wherry.Panicked] and retries the message. A panic that f dealt
// with is no such event. f gets the panic with the stack it happened on; it may be called by several goroutines, and a
// panic of its own is the engine's. A nil f is an error at start.
func Recover(f func(ctx context.Context, m wherry.AnyMessage, p *wherry.PanicError) wherry.Outcome) wherry.ConsumeOption {
	if f == nil {
		return noPanicFunction()
	}
	return wherry.Use(func(next wherry.Next) wherry.Next {
		return func(ctx context.Context, m wherry.AnyMessage) (o wherry.Outcome) {
			returned := false
			defer func() {
				if returned {
					return
				}
				if v := recover(); v != nil { // nil is runtime.Goexit, which goes on
					o = f(ctx, m, &wherry.PanicError{Value: v, Stack: debug.Stack()})
				}
			}()
			o = next(ctx, m)
			returned = true
			return o
		}
	})
}

// RecoverBatch is [Recover] for batches. f's outcome is that of every message which was not set before the panic; it may
// set some itself.
func RecoverBatch(f func(ctx context.Context, b wherry.AnyBatch, p *wherry.PanicError) wherry.Outcome) wherry.BatchOption {
	if f == nil {
		return noPanicFunction()
	}
	return wherry.UseBatch(func(next wherry.BatchNext) wherry.BatchNext {
		return func(ctx context.Context, b wherry.AnyBatch) (o wherry.Outcome) {
			returned := false
			defer func() {
				if returned {
					return
				}
				if v := recover(); v != nil { // nil is runtime.Goexit, which goes on
					o = f(ctx, b, &wherry.PanicError{Value: v, Stack: debug.Stack()})
				}
			}()
			o = next(ctx, b)
			returned = true
			return o
		}
	})
}

func noPanicFunction() wherry.ConsumerOption {
	m := mistakes{errors.New("the function is nil")}
	return m.invalid("recover")
}
