package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// A bridge that passes batches on. Each message is what it was, and what the far side did not take is tried again.
func ExamplePublisher_PublishEach() {
	ctx, stop := context.WithCancel(context.Background())
	near, far := mem.New(mem.Config{}), mem.New(mem.Config{})
	orders := wherry.NewTopic("orders", codec.Bytes{})
	in, err := wherry.NewPublisher(ctx, near, orders)
	if err != nil {
		panic(err)
	}
	for id, text := range map[string]string{"order-1": "three lamps", "order-2": "a desk"} {
		if err := in.Publish(ctx, new([]byte(text)), wherry.WithID(id)); err != nil {
			panic(err)
		}
	}

	out, err := wherry.NewPublisher(ctx, far, orders)
	if err != nil {
		panic(err)
	}
	bridge := wherry.ConsumeBatch(wherry.Queue(near, orders), func(ctx context.Context, b *wherry.MessageBatch[[]byte]) wherry.Outcome {
		err := out.PublishEach(ctx, func(yield func(*[]byte, []wherry.MessageOption) bool) {
			for _, m := range b.All() {
				if !yield(&m.Value, []wherry.MessageOption{wherry.WithOriginal(m)}) {
					return
				}
			}
		})
		if each, ok := errors.AsType[*wherry.BatchError](err); ok {
			for i, err := range each.Errs {
				if err == nil {
					b.Set(i, wherry.Ack())
				}
			}
		}
		stop()
		if err != nil {
			return wherry.Retry(err)
		}
		return wherry.Ack()
	}, wherry.BatchSize(2))
	if err := wherry.Run(ctx, bridge); err != nil {
		panic(err)
	}

	var ids []string
	for m, err := range wherry.Pull(context.Background(), wherry.Queue(far, orders)) {
		if err != nil {
			panic(err)
		}
		ids = append(ids, m.ID())
		m.Settle(wherry.Ack())
		if len(ids) == 2 {
			break
		}
	}
	slices.Sort(ids)
	fmt.Println(ids)
	// Output: [order-1 order-2]
}
