package middleware_test

import (
	"context"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// orders is the topic of the examples.
var orders = wherry.NewTopic("orders", codec.Text{})

// newShop is a broker with some orders in it.
func newShop(values ...string) *mem.Broker {
	b := mem.New(mem.Config{})
	p, err := wherry.NewPublisher(context.Background(), b, orders)
	if err != nil {
		panic(err)
	}
	for _, v := range values {
		if err := p.Publish(context.Background(), &v, wherry.WithID(v)); err != nil {
			panic(err)
		}
	}
	return b
}

// untilEmpty runs a consumer until the broker, which would forget what it holds, has nothing left.
func untilEmpty(c *wherry.Consumer) {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer stop()
	if err := wherry.Run(ctx, c); err != nil {
		panic(err)
	}
}
