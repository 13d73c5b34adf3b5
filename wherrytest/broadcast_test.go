package wherrytest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

var (
	prices = wherry.NewTopic("prices", codec.JSON[order]{}, wherry.Fanout("billing"))
	rates  = wherry.NewTopic("rates", codec.JSON[order]{}, wherry.Fanout())
)

func TestReadersAreCountedApart(t *testing.T) {
	t.Parallel()
	anyhow(t, func(t *testing.T, tt *wherrytest.Test) {
		in := wherrytest.Probe(tt, rates)
		tt.Run(
			wherry.Consume(wherry.Broadcast(tt.Broker(), rates), fail, slowly, wherry.Name("cache")),
			wherry.Consume(wherry.Broadcast(tt.Broker(), rates), wherrytest.Record[order](nil).Handle, wherry.Name("screen")),
			wherry.Consume(wherry.Broadcast(tt.Broker(), rates), wherrytest.Record[order](nil).Handle, wherry.Name("screen")),
		)
		in.Publish(order{ID: 1, Bad: "once"}, order{ID: 2, Bad: "reject"}, order{ID: 3, Bad: "always"})
		tt.Quiesce()

		in.Expect(wherrytest.Counts{Published: 3, Handled: 7, Retried: 3, Dropped: 2})
		in.Reader("cache").Expect(wherrytest.Counts{Published: 3, Handled: 1, Retried: 3, Dropped: 2})
		in.Reader("screen").Expect(wherrytest.Counts{Published: 3, Handled: 6})
	})
}

// Events do not tell consumers of one name apart. What fails differently at two of them is one story, with each step once.
func TestReadersOfOneNameTellOneStory(t *testing.T) {
	t.Parallel()
	anyhow(t, func(t *testing.T, tt *wherrytest.Test) {
		in := wherrytest.Probe(tt, rates)
		var calls atomic.Int64
		handle := func(context.Context, *wherry.Message[order]) wherry.Outcome {
			time.Sleep(time.Second) // so that both have it
			if calls.Add(1) <= 3 {
				return wherry.Retry(errBad)
			}
			return wherry.Ack()
		}
		tt.Run(
			wherry.Consume(wherry.Broadcast(tt.Broker(), rates), handle, slowly),
			wherry.Consume(wherry.Broadcast(tt.Broker(), rates), handle, slowly),
		)
		in.Publish(order{ID: 1})
		tt.Quiesce()
		in.Reader("rates").Expect(wherrytest.Counts{Published: 1, Handled: 2, Retried: 3})
	})
}

func TestTheStoryOfABroadcast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := failuresOf(t, func(tb testing.TB) {
			tt := wherrytest.New(tb)
			in := wherrytest.Probe(tt, prices)
			tt.Run(
				wherry.Consume(wherry.Broadcast(tt.Broker(), prices), fail, slowly, wherry.Name("cache")),
				wherry.Consume(wherry.Group(tt.Broker(), "billing", prices), fail, wherry.NoDeadLetters()),
			)
			in.PublishWith(order{ID: 1, Bad: "reject"}, wherry.WithID("one"))
			in.PublishWith(order{ID: 2, Bad: "once"}, wherry.WithID("two"))
			tt.Until(func() bool { return in.Reader("cache").Counts().Retried == 1 })
			in.Reader("cache").ExpectHandled(2)
			tt.Quiesce()
			in.Reader("cache").Expect(wherrytest.Counts{})
			in.Group("billing").Expect(wherrytest.Counts{})
			in.Expect(wherrytest.Counts{})
		})
		wants(t, text, "prices, read by cache: handled 0, want 2", "two in prices, read by cache: attempt 2 is due in ",
			"prices/billing: published 2, want 0; handled 1, want 0; retried 1, want 0; dropped 1, want 0",
			"one  published; dropped, rejected: card declined\n",
			"two  published; attempt 1 failed: card declined; handled at attempt 2",
			"cache: dropped, rejected: card declined", "billing: handled at attempt 2", "cache: handled at attempt 2")
	})
}

// What a reader that is gone did not read is over, and one that comes later sees nothing from before.
func TestAReaderBeginsAndEnds(t *testing.T) {
	t.Parallel()
	anyhow(t, func(t *testing.T, tt *wherrytest.Test) {
		in := wherrytest.Probe(tt, rates)
		running, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		first := wherry.Consume(wherry.Broadcast(tt.Broker(), rates), fail, wherry.Name("first"))
		go func() { ended <- wherry.Run(running, first) }()
		synctest.Wait()
		in.Publish(order{ID: 1})
		tt.Quiesce()
		first.Pause("for the test")
		stop()
		in.Publish(order{ID: 2})
		<-ended
		tt.Run(wherry.Consume(wherry.Broadcast(tt.Broker(), rates), fail, wherry.Name("second")))
		in.Publish(order{ID: 3})
		tt.Quiesce()
		in.Reader("second").ExpectHandled(1)
	})
}

// A readable broker keeps history, and cannot be asked how much it has.
type readable interface {
	driver.Broadcaster
	driver.Queuer
}

func TestAReaderFromTheHeadIsAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.NewLog(mem.LogConfig{})
		defer b.Close(t.Context())
		tt := wherrytest.New(t, wherrytest.OnBroker(struct{ readable }{b}))
		in := wherrytest.Probe(tt, prices)
		in.Publish(order{ID: 1}, order{ID: 2})
		reader := wherry.Consume(wherry.Broadcast(tt.Broker(), prices, wherry.FromHead()), fail)
		resume := reader.Pause("for a look at what is awaited")
		tt.Run(reader)
		if tt.Wait(t.Context()) == nil {
			t.Error("what was published before is not awaited")
		}
		resume()
		tt.Quiesce()
		in.Reader("prices").ExpectHandled(2)
		_ = tt.Stop()
	})
}
