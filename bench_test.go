package wherry_test

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// through lets everything pass.
func through(next wherry.Next) wherry.Next {
	return func(ctx context.Context, m wherry.AnyMessage) wherry.Outcome { return next(ctx, m) }
}

// BenchmarkPublishConsume is one message published and handled, 64 B without a decode, two middlewares.
func BenchmarkPublishConsume(b *testing.B) {
	for _, c := range []struct {
		name string
		opts []wherry.ConsumeOption
	}{
		{"concurrency=1", nil},
		{"concurrency=4", []wherry.ConsumeOption{wherry.Concurrency(4)}},
		{"concurrency=32", []wherry.ConsumeOption{wherry.Concurrency(32)}},
		{"workers=4", []wherry.ConsumeOption{wherry.Workers(4)}},
		{"workers=32", []wherry.ConsumeOption{wherry.Workers(32)}},
	} {
		b.Run(c.name, func(b *testing.B) {
			broker := mem.New(mem.Config{})
			topic := wherry.NewTopic("bytes", codec.BytesView{})
			p, err := wherry.NewPublisher(b.Context(), broker, topic)
			if err != nil {
				b.Fatal(err)
			}
			var n atomic.Int64
			all := make(chan struct{})
			h := func(context.Context, *wherry.Message[[]byte]) wherry.Outcome {
				if n.Add(1) == int64(b.N) {
					close(all)
				}
				return wherry.Ack()
			}
			ctx, stop := context.WithCancel(b.Context())
			done := make(chan error)
			opts := append([]wherry.ConsumeOption{wherry.Use(through, through)}, c.opts...)
			go func() { done <- wherry.Consume(wherry.Queue(broker, topic), h, opts...).Run(ctx) }()
			body := make([]byte, 64)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if err := p.Publish(ctx, &body); err != nil {
					b.Fatal(err)
				}
			}
			<-all
			b.StopTimer()
			stop()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}
