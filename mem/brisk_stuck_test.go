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

// proveBrisk lets a receiver prove that it is quick, and returns how records are sent to it.
func proveBrisk(t *testing.T, l *loop, r driver.Receiver) (send func(n int)) {
	t.Helper()
	send = func(n int) {
		for range n {
			if err := l.sender.Send(t.Context(), []driver.Record{{Body: make([]byte, benchBody)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 200 {
		send(benchBatch)
		got, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, benchBatch))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Settle(t.Context(), settleAll(nil, got)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
	}
	return send
}

// A brisk receiver that took all that was there, and is stuck with it, is asked to share with one that is idle.
func TestBriskReceiverIsAskedToShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, mem.Config{}, 2)
		brisk, other := l.receivers[0], l.receivers[1]
		send := proveBrisk(t, l, brisk)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = other.Receive(ctx, make([]*driver.Delivery, 0, benchBatch))
		}()
		synctest.Wait()
		send(benchBatch)
		got, err := brisk.Receive(ctx, make([]*driver.Delivery, 0, benchBatch))
		if err != nil || len(got) == 0 {
			t.Fatalf("got %d, %v", len(got), err)
		}
		time.Sleep(time.Second) // its handler is slow
		synctest.Wait()
		sharer, _ := brisk.(driver.Sharer)
		select {
		case <-sharer.Wanted():
		default:
			t.Error("another receiver is idle, and the one that has everything was not asked to share")
		}
		cancel()
		<-ended
	})
}

// A brisk receiver that is stuck does not keep others asleep because a third one takes.
func TestStuckBriskReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLoop(t, mem.Config{}, 3)
		brisk, busy, idle := l.receivers[0], l.receivers[1], l.receivers[2]
		send := proveBrisk(t, l, brisk)
		ctx, cancel := context.WithCancel(t.Context())
		var others atomic.Int64
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for ctx.Err() == nil {
				got, _ := idle.Receive(ctx, make([]*driver.Delivery, 0, 1))
				others.Add(int64(len(got)))
				if len(got) > 0 {
					time.Sleep(900 * time.Microsecond)
				}
				_ = idle.Settle(context.Background(), settleAll(nil, got))
			}
		}()
		synctest.Wait()
		send(1)
		if got, _ := brisk.Receive(ctx, make([]*driver.Delivery, 0, 1)); len(got) != 1 {
			t.Fatal("the brisk receiver has nothing")
		}
		send(2000)
		for n := 0; n < 1000; {
			got, err := busy.Receive(ctx, make([]*driver.Delivery, 0, 1))
			if err != nil {
				t.Fatal(err)
			}
			n += len(got)
			time.Sleep(900 * time.Microsecond)
			if err := busy.Settle(ctx, settleAll(nil, got)); err != nil {
				t.Fatal(err)
			}
		}
		if n := others.Load(); n < 900 {
			t.Errorf("beside 1000 of one, an idle receiver got %d", n)
		}
		cancel()
		<-ended
	})
}

// A receiver of two queues settles a batch of both while tenures of one end. It is for the race detector.
func TestSettleOfTwoQueues(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{})
	defer b.Close(context.Background())
	ctx := t.Context()
	topics := []driver.Topic{{Name: "a"}, {Name: "b"}}
	senders := make([]driver.Sender, len(topics))
	for i, topic := range topics {
		s, err := b.OpenSender(ctx, driver.Target{Topic: topic})
		if err != nil {
			t.Fatal(err)
		}
		senders[i] = s
	}
	r, err := b.OpenQueue(ctx, driver.Source{Topics: topics, Prefetch: 1000})
	if err != nil {
		t.Fatal(err)
	}
	revoker, _ := r.(driver.Revoker)
	told := make(chan struct{})
	go func() {
		defer close(told)
		for range revoker.Revocations() {
		}
	}()
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-quit:
				return
			default:
				b.Faults().Revoke("b", 0)
			}
		}
	}()
	for range 500 {
		for range 20 {
			for _, s := range senders {
				if err := s.Send(ctx, []driver.Record{{Body: []byte("x")}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		got, err := r.Receive(ctx, make([]*driver.Delivery, 0, 64))
		if err != nil {
			t.Fatal(err)
		}
		var batch []driver.Settlement
		for _, topic := range topics { // those of the other queue are behind
			for _, d := range got {
				if d.Topic == topic.Name {
					batch = append(batch, driver.Settlement{Delivery: d, Verdict: driver.Done})
				}
			}
		}
		for i := range batch {
			if err := driver.EntryError(r.Settle(ctx, batch[i:i+1]), 0); err != nil && batch[i].Delivery.Topic == "a" {
				t.Errorf("settle one of a: %v", err)
			}
			if i == 8 {
				_ = r.Settle(ctx, batch[i+1:]) // revoked ones of b fail
				break
			}
		}
	}
	close(quit)
	<-ended
	if err := r.Close(ctx); err != nil {
		t.Error(err)
	}
	<-told
}
