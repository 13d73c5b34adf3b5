package mem_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A receiver that comes for more before another would be awake gets all. When it stops coming, the other is woken.
func TestBriskReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, mem.Config{}, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var others atomic.Int64
		send := func(n int) {
			for range n {
				if err := l.sender.Send(ctx, []driver.Record{{Body: make([]byte, benchBody)}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		brisk := l.receivers[0]
		round := func(n int) (got []*driver.Delivery) {
			send(n)
			got, err := brisk.Receive(ctx, make([]*driver.Delivery, 0, benchBatch))
			if err != nil {
				t.Fatal(err)
			}
			if err := brisk.Settle(ctx, settleAll(nil, got)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return got
		}
		for range 200 {
			round(benchBatch)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				got, _ := l.receivers[1].Receive(ctx, make([]*driver.Delivery, 0, benchBatch))
				others.Add(int64(len(got)))
				if len(got) > 0 {
					_ = l.receivers[1].Settle(context.Background(), settleAll(nil, got))
				}
			}
		}()
		synctest.Wait()
		for range 100 {
			if got := round(benchBatch); len(got) != benchBatch {
				t.Fatalf("the brisk receiver got %d of %d", len(got), benchBatch)
			}
		}
		if n := others.Load(); n != 0 {
			t.Errorf("the other receiver got %d messages meanwhile, want none", n)
		}
		send(benchBatch)
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if n := others.Load(); n != benchBatch {
			t.Errorf("2ms after the brisk receiver stopped coming the other had %d messages, want %d", n, benchBatch)
		}
		cancel()
		<-ended
	})
}
