package mem_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

const (
	benchBody  = 64
	benchBatch = 32
)

// A loop is what the benchmarks drive: a sender and receivers of one queue.
type loop struct {
	sender    driver.Sender
	receivers []driver.Receiver
}

func newLoop(tb testing.TB, c mem.Config, receivers int) *loop {
	tb.Helper()
	b := mem.New(c)
	tb.Cleanup(func() { _ = b.Close(context.Background()) })
	topic := driver.Topic{Name: "bench"}
	s, err := b.OpenSender(tb.Context(), driver.Target{Topic: topic})
	if err != nil {
		tb.Fatal(err)
	}
	l := &loop{sender: s}
	for range receivers {
		r, err := b.OpenQueue(tb.Context(), driver.Source{Topics: []driver.Topic{topic}, Prefetch: benchBatch})
		if err != nil {
			tb.Fatal(err)
		}
		l.receivers = append(l.receivers, r)
	}
	return l
}

// settleAll fills dst with the word Done for each delivery.
func settleAll(dst []driver.Settlement, ds []*driver.Delivery) []driver.Settlement {
	for _, d := range ds {
		dst = append(dst, driver.Settlement{Delivery: d, Verdict: driver.Done})
	}
	return dst
}

// BenchmarkLoop sends one by one, receives up to 32 and settles as many, in one goroutine.
func BenchmarkLoop(b *testing.B) {
	for _, size := range []int{benchBody, 1 << 10, 16 << 10} {
		b.Run(fmt.Sprintf("body=%d", size), func(b *testing.B) {
			l := newLoop(b, mem.Config{}, 1)
			r := l.receivers[0]
			ctx := b.Context()
			batch := []driver.Record{{Body: make([]byte, size)}}
			ds := make([]*driver.Delivery, 0, benchBatch)
			ss := make([]driver.Settlement, 0, benchBatch)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if err := l.sender.Send(ctx, batch); err != nil {
					b.Fatal(err)
				}
				n++
				if n%benchBatch != 0 {
					continue
				}
				got, err := r.Receive(ctx, ds[:0])
				if err != nil || len(got) != benchBatch {
					b.Fatal(len(got), err)
				}
				if err := r.Settle(ctx, settleAll(ss[:0], got)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReceivers has one goroutine send and 1 to 32 receive and settle. It ends when every record was settled.
func BenchmarkReceivers(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := newLoop(b, mem.Config{}, n)
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var seen, goal atomic.Int64
			reached := make(chan struct{}, 1)
			count := func(n int) {
				if seen.Add(int64(n)) == goal.Load() {
					reached <- struct{}{}
				}
			}
			var all sync.WaitGroup
			for _, r := range l.receivers {
				all.Go(func() { drain(ctx, r, count) })
			}
			batch := []driver.Record{{Body: make([]byte, benchBody)}}
			b.ReportAllocs()
			var sent int64
			for b.Loop() {
				if err := l.sender.Send(ctx, batch); err != nil {
					b.Fatal(err)
				}
				sent++
			}
			goal.Store(sent + 1)
			if err := l.sender.Send(ctx, batch); err != nil {
				b.Fatal(err)
			}
			<-reached
			cancel()
			all.Wait()
		})
	}
}

// drain receives and settles until ctx ends.
func drain(ctx context.Context, r driver.Receiver, count func(int)) {
	ds := make([]*driver.Delivery, 0, benchBatch)
	ss := make([]driver.Settlement, 0, benchBatch)
	for {
		got, err := r.Receive(ctx, ds[:0])
		if err != nil {
			return
		}
		if err := r.Settle(ctx, settleAll(ss[:0], got)); err != nil {
			return
		}
		count(len(got))
	}
}

// BenchmarkChannel is what a buffered channel costs with as many receivers, for values of a delivery's size that have
// their own body, copied in. Nothing is settled.
func BenchmarkChannel(b *testing.B) {
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			type delivery struct {
				driver.Delivery
				own [benchBody]byte
			}
			c := make(chan delivery, mem.DefaultMaxMessages)
			var all sync.WaitGroup
			for range n {
				all.Go(func() {
					var d delivery
					for d = range c {
						if d.own[0] != 1 {
							b.Error("a body was lost")
						}
					}
				})
			}
			var d delivery
			body := make([]byte, benchBody)
			body[0] = 1
			b.ReportAllocs()
			for b.Loop() {
				copy(d.own[:], body)
				c <- d
			}
			close(c)
			all.Wait()
		})
	}
}
