// Middleware of batches is no middleware of messages, and RecoverBatch fits batches alone.
package misuse

import (
	"context"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

var topic = wherry.NewTopic("t", codec.Text{})

func one(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }

func batches(next wherry.BatchNext) wherry.BatchNext { return next }

var (
	_ = wherry.Use(batches)                                                                           // want "cannot use batches"
	_ = wherry.Consume(wherry.Queue(mem.New(mem.Config{}), topic), one, middleware.RecoverBatch(nil)) // want "missing method applyConsume"
)

// A message is made by the engine alone.
type forged struct{ wherry.Message[string] }

var _ wherry.AnyMessage = forged{} // want "forged does not implement wherry.AnyMessage"
