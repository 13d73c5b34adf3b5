// A broker without transactions is no source of them, and the compiler names the method that it lacks. What publishes at once is
// no part of one.
package misuse

import (
	"context"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

var (
	log    = mem.NewLog(mem.LogConfig{})
	b      = mem.New(mem.Config{})
	topic  = wherry.NewTopic("t", codec.Text{})
	fanout = wherry.NewTopic("f", codec.Text{}, wherry.Fanout("g"))

	at, _ = wherry.NewPublisher(context.Background(), b, topic)
)

func one(context.Context, *wherry.Message[string]) wherry.Outcome { return wherry.Ack() }

var (
	_ = wherry.Transacted(b, topic, wherry.Publishing(wherry.NewTxPublisher(topic)))
	_ = wherry.GroupTransacted(b, "g", fanout)

	_ = wherry.Transacted(log, topic)                                           // want "mem.LogBroker does not implement driver.Transactor" "missing method OpenTransacted"
	_ = wherry.GroupTransacted(log, "g", fanout)                                // want "mem.LogBroker does not implement driver.Transactor" "missing method OpenTransacted"
	_ = wherry.Transacted(b, topic, wherry.Publishing(at))                      // want "wherry.AnyTxPublisher" "missing method output"
	_ = wherry.Queue(b, topic, wherry.TxAtMost(1, 1))                           // want "wherry.TxOption" "missing method applySource"
	_ = wherry.Consume(wherry.Transacted(b, topic), one, wherry.TxAtMost(1, 1)) // want "wherry.TxOption" "missing method applyConsume"
)
