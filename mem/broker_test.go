package mem_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func queueTopic(name string) driver.Topic { return driver.Topic{Name: name} }

func fanout(name string, groups ...string) driver.Topic {
	return driver.Topic{Name: name, Fanout: true, Groups: groups}
}

func open(tb testing.TB, c mem.Config) *mem.Broker {
	tb.Helper()
	b := mem.New(c)
	tb.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return b
}

func sender(tb testing.TB, b *mem.Broker, t driver.Target) driver.Sender {
	tb.Helper()
	s, err := b.OpenSender(tb.Context(), t)
	if err != nil {
		tb.Fatalf("open sender: %v", err)
	}
	return s
}

func receiver(tb testing.TB, b *mem.Broker, group string, topics ...driver.Topic) driver.Receiver {
	tb.Helper()
	s := driver.Source{Topics: topics, Group: group, Prefetch: 64}
	openIt := b.OpenQueue
	if group != "" {
		openIt = b.OpenGroup
	}
	r, err := openIt(tb.Context(), s)
	if err != nil {
		tb.Fatalf("open receiver: %v", err)
	}
	return r
}

// send sends records with these bodies, one at a time.
func send(tb testing.TB, s driver.Sender, bodies ...string) {
	tb.Helper()
	for _, body := range bodies {
		if err := s.Send(tb.Context(), []driver.Record{{Body: []byte(body)}}); err != nil {
			tb.Errorf("send %q: %v", body, err)
		}
	}
}

// take receives up to n deliveries in one call.
func take(tb testing.TB, r driver.Receiver, n int) []*driver.Delivery {
	tb.Helper()
	ds, err := r.Receive(tb.Context(), make([]*driver.Delivery, 0, n))
	if err != nil {
		tb.Fatalf("receive: %v", err)
	}
	return ds
}

func bodies(ds []*driver.Delivery) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = string(d.Body)
	}
	return out
}

func settle(tb testing.TB, r driver.Receiver, v driver.Verdict, ds ...*driver.Delivery) {
	tb.Helper()
	batch := make([]driver.Settlement, len(ds))
	for i, d := range ds {
		batch[i] = driver.Settlement{Delivery: d, Verdict: v}
	}
	if err := r.Settle(tb.Context(), batch); err != nil {
		tb.Errorf("settle: %v", err)
	}
}

func want(tb testing.TB, what string, got, want any) {
	tb.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		tb.Errorf("%s: got %s, want %s", what, g, w)
	}
}

func depth(tb testing.TB, b *mem.Broker, group string, topics ...driver.Topic) string {
	tb.Helper()
	d, err := b.Depth(tb.Context(), driver.Source{Topics: topics, Group: group})
	if err != nil {
		tb.Fatalf("depth: %v", err)
	}
	return fmt.Sprintf("ready %d held %d in flight %d", d.Ready, d.Held, d.InFlight)
}

func wantErr(tb testing.TB, what string, err error, targets ...error) {
	tb.Helper()
	if err == nil {
		tb.Errorf("%s: no error", what)
	}
	for _, t := range targets {
		if !errors.Is(err, t) {
			tb.Errorf("%s: %v does not match %v", what, err, t)
		}
	}
}

func TestQueueGivesEachRecordToOneReceiver(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	topic := queueTopic("orders")
	s := sender(t, b, driver.Target{Topic: topic})
	one, two := receiver(t, b, "", topic), receiver(t, b, "", topic)
	send(t, s, "a", "b", "c")
	first, second := take(t, one, 2), take(t, two, 2)
	want(t, "first", bodies(first), "[a b]")
	want(t, "second", bodies(second), "[c]")
	want(t, "depth", depth(t, b, "", topic), "ready 0 held 0 in flight 3")
	settle(t, one, driver.Done, first...)
	settle(t, two, driver.Release, second...)
	want(t, "depth", depth(t, b, "", topic), "ready 1 held 0 in flight 0")
}

func TestFanoutGivesEachRecordToEveryGroup(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	topic := fanout("orders", "billing", "audit")
	s := sender(t, b, driver.Target{Topic: topic})
	only := sender(t, b, driver.Target{Topic: topic, Group: "audit"})
	send(t, s, "all")
	send(t, only, "audit only")
	billing, audit := receiver(t, b, "billing", topic), receiver(t, b, "audit", topic)
	want(t, "billing", bodies(take(t, billing, 4)), "[all]")
	want(t, "audit", bodies(take(t, audit, 4)), "[all audit only]")
}
