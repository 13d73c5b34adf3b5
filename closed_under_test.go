package wherry_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// says fails the test unless an error is of something closed and has all of the words.
func says(t *testing.T, what string, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("%s: %q does not say %q", what, err, w)
		}
	}
}

// Whoever closes a broker too early is told what was closed and when it is to be, on every broker and in every manner.
func TestClosedUnderAConsumerSaysWhat(t *testing.T) {
	t.Parallel()
	news := wherry.NewTopic("news", codec.JSON[order]{}, wherry.Fanout("mail"))
	type broker interface {
		testBroker
		driver.Sequencer
	}
	finished := func(context.Context, *wherry.Message[step]) wherry.Outcome { return wherry.Ack() }
	brokers := map[string]func(testing.TB) broker{
		"mem":           func(testing.TB) broker { return mem.New(mem.Config{}) },
		"log":           func(testing.TB) broker { return mem.NewLog(mem.LogConfig{}) },
		"without holds": func(tb testing.TB) broker { return newHoldLogs(tb) },
	}
	for name, open := range brokers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				for manner, consume := range map[string]func(broker) *wherry.Consumer{
					"queue": func(b broker) *wherry.Consumer { return wherry.Consume(wherry.Queue(b, orders), done) },
					"workers": func(b broker) *wherry.Consumer {
						return wherry.Consume(wherry.Queue(b, orders), done, wherry.Workers(3))
					},
					"group":    func(b broker) *wherry.Consumer { return wherry.Consume(wherry.Group(b, "mail", news), done) },
					"sequence": func(b broker) *wherry.Consumer { return wherry.Consume(wherry.Sequence(b, steps), finished) },
				} {
					b := open(t)
					r := start(t, consume(b))
					synctest.Wait()
					if err := b.Close(context.Background()); err != nil {
						t.Error(err)
					}
					<-r.done
					says(t, manner, r.err, "the broker was closed under it", "after Run has returned", "mem: broker closed")
				}
				b := open(t)
				time.AfterFunc(time.Second, func() { _ = b.Close(context.Background()) })
				var pulled error
				for _, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders)) {
					pulled = err
				}
				says(t, "loop", pulled, "consume orders", "close brokers after the loop", "mem: broker closed")
				says(t, "opened too late", wherry.Run(t.Context(), wherry.Consume(wherry.Queue(b, orders), done)), "mem: broker closed")
			})
		})
	}
}

// A publish that comes too late says whether its publisher or the broker was closed.
func TestClosedPublishSaysWhat(t *testing.T) {
	t.Parallel()
	for name, cfg := range joins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := mem.New(cfg)
			first, err := wherry.NewPublisher(t.Context(), b, orders)
			if err != nil {
				t.Fatal(err)
			}
			second, err := wherry.NewPublisher(t.Context(), b, orders)
			if err != nil {
				t.Fatal(err)
			}
			if err := first.Close(t.Context()); err != nil {
				t.Error(err)
			}
			says(t, "publisher", first.Publish(t.Context(), &order{}), "not sent", "the publisher is closed")
			if err := b.Close(t.Context()); err != nil {
				t.Error(err)
			}
			says(t, "broker", second.Publish(t.Context(), &order{}), "not sent", "mem: broker closed")
			_ = second.Close(t.Context())
			_, err = wherry.NewPublisher(t.Context(), b, orders)
			says(t, "opened too late", err, "mem: broker closed")
		})
	}
}
