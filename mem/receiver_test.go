package mem_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// idle starts n receivers that wait, and returns what each brings with its first Receive.
func idle(t *testing.T, b *mem.Broker, n, space int, topics ...driver.Topic) ([]driver.Receiver, []chan []*driver.Delivery) {
	t.Helper()
	var receivers []driver.Receiver
	var results []chan []*driver.Delivery
	for range n {
		r := receiver(t, b, "", topics...)
		c := make(chan []*driver.Delivery, 1)
		go func() {
			ds, _ := r.Receive(t.Context(), make([]*driver.Delivery, 0, space))
			c <- ds
		}()
		receivers, results = append(receivers, r), append(results, c)
	}
	synctest.Wait()
	return receivers, results
}

func TestIdleReceiversShareWhatComes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{})
		topic := queueTopic("orders")
		s := sender(t, b, driver.Target{Topic: topic})
		_, results := idle(t, b, 4, 32, topic)
		batch := make([]driver.Record, 32)
		if err := s.Send(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, c := range results {
			got = append(got, len(<-c))
		}
		want(t, "shares", got, "[8 8 8 8]")
	})
}

func TestBusyReceiverLeavesIdleOnesTheirShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{})
		topic := queueTopic("orders")
		s, busy := sender(t, b, driver.Target{Topic: topic}), receiver(t, b, "", topic)
		_, results := idle(t, b, 2, 32, topic)
		if err := s.Send(t.Context(), make([]driver.Record, 9)); err != nil {
			t.Fatal(err)
		}
		want(t, "busy", len(take(t, busy, 32)), 3)
		want(t, "idle", len(<-results[0])+len(<-results[1]), 6)
	})
}

func TestCancelledReceiverPassesItsWakeOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			b := mem.New(mem.Config{})
			topic := queueTopic("orders")
			s := sender(t, b, driver.Target{Topic: topic})
			ctx, cancel := context.WithCancel(t.Context())
			quitter, other := receiver(t, b, "", topic), receiver(t, b, "", topic)
			got := make(chan []*driver.Delivery, 2)
			go func() {
				ds, _ := other.Receive(t.Context(), make([]*driver.Delivery, 0, 4))
				got <- ds
			}()
			synctest.Wait()
			go func() {
				// The last that became idle is woken first.
				if ds, _ := quitter.Receive(ctx, make([]*driver.Delivery, 0, 4)); len(ds) > 0 {
					got <- ds
				}
			}()
			synctest.Wait()
			cancel()
			send(t, s, "x") // most likely before the quitter has run
			want(t, "received", bodies(<-got), "[x]")
			synctest.Wait()
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestReceiveReturnsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, r := one(t, mem.Config{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 1))
		wantErr(t, "receive", err, context.DeadlineExceeded)
		want(t, "received", len(ds), 0)
		want(t, "waited", time.Since(begun), time.Second)
		send(t, s, "x")
		_, err = r.Receive(ctx, make([]*driver.Delivery, 0, 1))
		wantErr(t, "receive with an ended context", err, context.DeadlineExceeded)
		_, err = r.Receive(t.Context(), nil)
		wantErr(t, "receive into nothing", err)
		want(t, "then", bodies(take(t, r, 1)), "[x]")
	})
}

func TestReceiveAppends(t *testing.T) {
	t.Parallel()
	_, s, r := one(t, mem.Config{})
	send(t, s, "a", "b", "c")
	dst := append(make([]*driver.Delivery, 0, 3), take(t, r, 1)...)
	dst, err := r.Receive(t.Context(), dst)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "appended", bodies(dst), "[a b c]")
}

func TestIdleReceiverOfSeveralTopicsIsWokenByEach(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{})
		topics := []driver.Topic{queueTopic("a"), queueTopic("b"), queueTopic("c")}
		for _, topic := range topics {
			r := receiver(t, b, "", topics...)
			got := make(chan []*driver.Delivery)
			go func() {
				ds, _ := r.Receive(t.Context(), make([]*driver.Delivery, 0, 4))
				got <- ds
			}()
			synctest.Wait()
			send(t, sender(t, b, driver.Target{Topic: topic}), topic.Name)
			want(t, "woken by", bodies(<-got), "["+topic.Name+"]")
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
			next := receiver(t, b, "", topic)
			settle(t, next, driver.Done, take(t, next, 1)...)
		}
	})
}

func TestBusyReceiverOfSeveralTopicsIsNotAmongThoseThatWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{})
		topics := []driver.Topic{queueTopic("one"), queueTopic("two"), queueTopic("three")}
		for _, first := range topics {
			busy, results := idle(t, b, 1, 1, topics...)
			send(t, sender(t, b, driver.Target{Topic: first}), "x")
			settle(t, busy[0], driver.Done, <-results[0]...)
			for _, other := range topics {
				send(t, sender(t, b, driver.Target{Topic: other}), "0", "1", "2", "3")
				next := receiver(t, b, "", other)
				ds := take(t, next, 9)
				want(t, "another takes all", len(ds), 4)
				settle(t, next, driver.Done, ds...)
			}
			if err := busy[0].Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestManyReceiversLoseNothing(t *testing.T) {
	t.Parallel()
	const senders, receivers, each = 4, 8, 2000
	b := open(t, mem.Config{MaxMessages: 64})
	topics := []driver.Topic{queueTopic("one"), queueTopic("two")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var seen []string
	var all, sending sync.WaitGroup
	for i := range receivers {
		r := receiver(t, b, "", topics[i%2:]...) // some of both topics, some of one
		all.Go(func() {
			for {
				ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 1+i*5))
				if err != nil {
					return
				}
				mu.Lock()
				seen = append(seen, bodies(ds)...)
				if len(seen) == senders*each {
					cancel()
				}
				mu.Unlock()
				settle(t, r, driver.Done, ds...)
			}
		})
	}
	for i := range senders {
		s := sender(t, b, driver.Target{Topic: topics[i%2]})
		sending.Go(func() {
			for j := range each {
				send(t, s, fmt.Sprintf("%d/%04d", i, j))
			}
		})
	}
	sending.Wait()
	all.Wait()
	slices.Sort(seen)
	want(t, "received", len(seen), senders*each)
	want(t, "different ones", len(slices.Compact(seen)), senders*each)
	want(t, "depth", depth(t, b, "", topics...), "ready 0 held 0 in flight 0")
}
