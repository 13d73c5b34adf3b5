package fastjson_test

import (
	"context"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codecs/fastjson"
	"github.com/wherryhq/wherry/mem"
)

// An Order is a type that is fast: it has nothing but plain fields.
type Order struct {
	ID       int64  `json:"id"`
	Customer string `json:"customer"`
}

// A topic takes the codec where it would take codec.JSON.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	orders := wherry.NewTopic("orders", fastjson.New[Order]())
	broker := mem.New(mem.Config{})
	publisher, err := wherry.NewPublisher(ctx, broker, orders)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := publisher.Publish(ctx, &Order{ID: 7, Customer: "Ada"}); err != nil {
		fmt.Println(err)
		return
	}
	err = wherry.Run(ctx, wherry.Consume(wherry.Queue(broker, orders),
		func(_ context.Context, m *wherry.Message[Order]) wherry.Outcome {
			fmt.Printf("%s: %+v\n", m.Body(), m.Value)
			stop()
			return wherry.Ack()
		}))
	if err != nil {
		fmt.Println(err)
	}
	// Output: {"id":7,"customer":"Ada"}: {ID:7 Customer:Ada}
}

// A test of a program can hold its types to the fast way.
func ExampleCodec_Slow() {
	type Visit struct {
		Page string
		At   time.Time
	}
	fmt.Println(fastjson.New[Order]().Slow())
	fmt.Println(fastjson.New[Visit]().Slow())
	// Output:
	// <nil>
	// time.Time has a method MarshalJSON of its own
}
