package wherry_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/mem"
)

// BenchmarkSequence drains messages of 1,000 keys, in their order and in any, 64 B without a decode.
func BenchmarkSequence(b *testing.B) {
	const keys = 1000
	for _, ordered := range []bool{false, true} {
		for _, lanes := range []int{1, 8} {
			b.Run("ordered="+strconv.FormatBool(ordered)+"/concurrency="+strconv.Itoa(lanes), func(b *testing.B) {
				broker := mem.New(mem.Config{MaxMessages: b.N + 1, MaxBytes: 1 << 40})
				sent := 0
				topic := wherry.NewKeyedTopic("bytes", codec.BytesView{}, func(dst []byte, _ *[]byte) []byte {
					sent++
					return strconv.AppendInt(append(dst, "key-"...), int64(sent%keys), 10)
				})
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
				source := wherry.Queue(broker, topic)
				if ordered {
					source = wherry.Sequence(broker, topic)
				}
				// The queue is there, and knows how its receivers share it, before anything is sent.
				first, stopFirst := context.WithCancel(b.Context())
				stopFirst()
				_ = wherry.Consume(source, h).Run(first)
				body := make([]byte, 64)
				for range b.N {
					if err := p.Publish(ctx, &body); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportAllocs()
				b.ResetTimer()
				go func() { done <- wherry.Consume(source, h, wherry.Concurrency(lanes)).Run(ctx) }()
				<-all
				b.StopTimer()
				stop()
				if err := <-done; err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
