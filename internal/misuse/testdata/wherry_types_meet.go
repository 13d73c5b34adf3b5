// The type of a topic is the type of its handlers, codecs and values.
package misuse

import (
	"context"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

var (
	b     = mem.New(mem.Config{})
	topic = wherry.NewTopic("t", codec.Text{})
)

func numbers(context.Context, *wherry.Message[int]) wherry.Outcome { return wherry.Ack() }

// plain is one for Func.
func plain(context.Context, string) error { return nil }

func misuse(ctx context.Context) {
	wherry.Consume(wherry.Queue(b, topic), numbers) // want "numbers" "does not match"
	wherry.Consume(wherry.Queue(b, topic), plain)   // want "does not match inferred type wherry.Handler"
	p, _ := wherry.NewPublisher(ctx, b, topic)
	n := 5
	_ = p.Publish(ctx, &n)                                                      // want "cannot use &n"
	_ = p.Publish(ctx, "text")                                                  // want "cannot use \"text\""
	wherry.NewKeyedTopic("t", codec.Text{}, func(v string) string { return v }) // want "does not match inferred type"
}
