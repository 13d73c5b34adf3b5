// The type of an option says where it fits: what it does not fit does not compile.
package misuse

import (
	"context"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

var (
	b     = mem.New(mem.Config{})
	topic = wherry.NewTopic("t", codec.Text{})
)

func one(context.Context, *wherry.Message[string]) wherry.Outcome       { return wherry.Ack() }
func many(context.Context, *wherry.MessageBatch[string]) wherry.Outcome { return wherry.Ack() }

func through(next wherry.Next) wherry.Next { return next }

var (
	_ = wherry.Consume(wherry.Queue(b, topic), one, wherry.Concurrency(8), wherry.Workers(2))
	_ = wherry.ConsumeBatch(wherry.Queue(b, topic), many, wherry.BatchSize(8), wherry.Workers(2))
	_ = wherry.NewTxPublisher(topic, wherry.BodyLimit(8), wherry.Verify(), wherry.ExactStamps())

	_    = wherry.Consume(wherry.Queue(b, topic), one, wherry.BatchAge(time.Second))                   // want "wherry.BatchOption" "missing method applyConsume"
	_    = wherry.ConsumeBatch(wherry.Queue(b, topic), many, wherry.Concurrency(8))                    // want "wherry.ConsumeOption" "missing method applyBatch"
	_    = wherry.ConsumeBatch(wherry.Queue(b, topic), many, wherry.Use(through))                      // want "wherry.ConsumeOption" "missing method applyBatch"
	_    = wherry.NewTopic("t", codec.Text{}, wherry.Workers(2))                                       // want "wherry.ConsumerOption" "missing method applyTopic"
	_    = wherry.Queue(b, topic, wherry.Prefetch(8))                                                  // want "wherry.ConsumerOption" "missing method applySource"
	_    = wherry.NewTxPublisher(topic, wherry.PublishTimeout(time.Second))                            // want "wherry.TxPublishOption" "missing method applyTxPublish"
	_, _ = wherry.NewPublisher(context.Background(), b, topic, wherry.RetryWith(wherry.RetryPolicy{})) // want "wherry.PolicyOption" "missing method applyPublish"
)
