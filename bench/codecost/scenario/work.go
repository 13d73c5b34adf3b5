package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/codecs/fastjson"
)

// Work is one run of a scenario.
type Work struct {
	// Scenario is one of [Names].
	Scenario string
	// N is the number of messages that are counted, at least 1.
	N int
	// Ready is the number of messages that wait before the first is handled, in scenarios that do not send while they
	// receive. It is the same in runs that are compared, and at least N.
	Ready int
	// Consumers is the number of handlers at once, Workers of receivers; zero is one.
	Consumers int
	Workers   int
	// Codec is "bytesview" (a body of 64 bytes), "json" or "fastjson" (an [Order] in a body of 128 bytes). Empty is "bytesview".
	Codec string
	// Middleware is one of [Middlewares], Times how often it stands in the chain; empty is none.
	Middleware string
	Times      int
}

// Names returns the scenarios that [Run] knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(scenarios)) }

// Run does the work and calls counted once, when all N messages are through. What it does afterwards, stopping and
// closing, is not to be counted: a counted that ends the process is welcome.
func Run(ctx context.Context, w Work, counted func()) error {
	run, ok := scenarios[w.Scenario]
	if !ok {
		return fmt.Errorf("unknown scenario %q: want one of %s", w.Scenario, strings.Join(Names(), ", "))
	}
	if w.N < 1 {
		return fmt.Errorf("%d messages: want at least 1", w.N)
	}
	w.Ready = max(w.Ready, w.N)
	w.Consumers, w.Workers = max(w.Consumers, 1), max(w.Workers, 1)
	return run(ctx, w, counted)
}

type runFunc func(ctx context.Context, w Work, counted func()) error

// scenarios has a function for each name: what does not depend on the type of the value, or what [byCodec] made of a
// generic one.
var scenarios = map[string]runFunc{
	"idle":         idle,
	"channel":      channel,
	"channel-bare": channelBare,
	"decode":       byCodec(decode[[]byte], decode[Order]),
	"encode":       encode,
	"hand":         byCodec(hand[[]byte], hand[Order]),
	"hand-drain":   byCodec(handDrain[[]byte], handDrain[Order]),
	"live":         byCodec(live[[]byte], live[Order]),
	"consume":      byCodec(consume[[]byte], consume[Order]),
	"batch":        byCodec(batch[[]byte], batch[Order]),
	"transaction":  byCodec(transaction[[]byte], transaction[Order]),
	"sequence":     byCodec(sequence[[]byte], sequence[Order]),
	"publish":      byCodec(publish[[]byte], publish[Order]),
	"publish-all":  byCodec(publishAll[[]byte], publishAll[Order]),
	"reply":        byCodec(reply[[]byte], reply[Order]),
	"redelivery":   byCodec(redelivery[[]byte], redelivery[Order]),
}

// A load is what messages of a scenario are made of.
type load[T any] struct {
	codec wherry.Codec[T]
	body  []byte
}

// byCodec makes one function of the two instances of a generic scenario, by the codec that is asked for.
func byCodec(
	bytes func(context.Context, Work, load[[]byte], func()) error,
	order func(context.Context, Work, load[Order], func()) error,
) runFunc {
	return func(ctx context.Context, w Work, counted func()) error {
		if w.Codec == "" || w.Codec == "bytesview" {
			return bytes(ctx, w, load[[]byte]{codec: codec.BytesView{}, body: make([]byte, bodySize)}, counted)
		}
		c, err := orderCodec[Order](w.Codec)
		if err != nil {
			return err
		}
		return order(ctx, w, load[Order]{codec: c, body: []byte(Body)}, counted)
	}
}

// orderCodec is the codec of that name for a struct.
func orderCodec[T any](name string) (wherry.Codec[T], error) {
	switch name {
	case "json", "":
		return codec.JSON[T]{}, nil
	case "fastjson":
		return fastjson.New[T](), nil
	default:
		return nil, fmt.Errorf("unknown codec %q: want bytesview, json or fastjson", name)
	}
}

func idle(_ context.Context, _ Work, counted func()) error {
	counted()
	return nil
}
