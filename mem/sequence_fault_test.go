package mem_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// byKey are the bodies that came of each key, in their order.
func byKey(ds []*driver.Delivery) map[string][]string {
	m := map[string][]string{}
	for _, d := range ds {
		m[string(d.Key)] = append(m[string(d.Key)], string(d.Body))
	}
	return m
}

func TestReorderedKeysKeepTheirOrder(t *testing.T) {
	t.Parallel()
	orders := map[string]bool{}
	for seed := range uint64(8) {
		b, s, rs := owners(t, mem.Config{}, 1)
		for i := range 4 {
			for _, k := range []string{"a", "b", "c", ""} {
				sendKeyed(t, s, k, fmt.Sprint(k, i))
			}
		}
		b.Faults().Reorder("orders", seed+1)
		ds := take(t, rs[0], 99)
		keys := byKey(ds)
		orders[fmt.Sprint(bodies(ds))] = true
		for _, k := range []string{"a", "b", "c"} {
			want(t, "of "+k, keys[k], fmt.Sprintf("[%[1]s0 %[1]s1 %[1]s2 %[1]s3]", k))
		}
		want(t, "without a key", len(keys[""]), 4)
	}
	if len(orders) < 4 {
		t.Errorf("8 seeds gave %d orders", len(orders))
	}
}

func TestDroppedAndDuplicatedOfASequence(t *testing.T) {
	t.Parallel()
	b, s, rs := owners(t, mem.Config{}, 1)
	f := b.Faults()
	sendKeyed(t, s, "k", "1", "2", "3")
	sendKeyed(t, s, "", "free")
	f.Drop("orders", 2)
	f.Duplicate("orders", 1)
	ds := take(t, rs[0], 1)
	ds = append(ds, take(t, rs[0], 9)...)
	want(t, "dropped", f.Dropped(), 2)
	want(t, "came", len(ds), 3)
	want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 3")
	settle(t, rs[0], driver.Done, ds...)
	want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 0")
}

func TestSequenceSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, rs := owners(t, mem.Config{Weak: mem.Weak{CreditPerQueue: 2}}, 2)
		sendKeyed(t, s, "a", "1", "2", "3")
		ds := take(t, rs[0], 9)
		want(t, "within the credit", len(ds), 2)
		came := later(t, rs[1], 9)
		want(t, "reason", rs[1].(driver.Waiter).Waiting(), "no credit")
		settle(t, rs[0], driver.Done, ds...)
		want(t, "when there is credit", bodies(<-came), "[3]")
		b.Faults().PauseQueue("orders")
		sendKeyed(t, s, "b", "4")
		came = later(t, rs[1], 9)
		want(t, "reason", rs[1].(driver.Waiter).Waiting(), "paused")
		want(t, "came", len(came), 0)
		b.Faults().ResumeQueue("orders")
		want(t, "resumed", bodies(<-came), "[4]")
	})
}

func TestSequenceOutlivesAWipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, rs := owners(t, mem.Config{}, 2)
		sendKeyed(t, s, "k", "1", "2")
		old := take(t, rs[0], 1)
		b.Faults().WipeTopology()
		for _, r := range rs {
			_, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
			wantErr(t, "receive", err, driver.ErrDisconnected)
		}
		sendKeyed(t, s, "k", "3", "4")
		want(t, "sent afterwards", bodies(take(t, rs[1], 1)), "[3]")
		nothing(t, "while another owns the key", rs[0])
		err := rs[0].Settle(t.Context(), []driver.Settlement{{Delivery: old[0], Verdict: driver.Done}})
		wantErr(t, "late", err, driver.ErrRevoked)
	})
}

// Fault 38: while a revoked owner still works on a key, nobody else gets any of it.
func TestRevokedOwnerKeepsItsKeyUntilItIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, rs := owners(t, mem.Config{}, 2)
		sendKeyed(t, s, "k", "1", "2", "3")
		ds := take(t, rs[0], 2)
		if err := b.Faults().RevokeReceiver(rs[0], time.Hour); err != nil {
			t.Fatal(err)
		}
		rev := <-rs[0].(driver.Revoker).Revocations()
		sendKeyed(t, s, "k", "4")
		nothing(t, "within the grace", rs[1])
		settle(t, rs[0], driver.Done, ds[0])
		nothing(t, "while one is left", rs[1])
		came := later(t, rs[1], 9)
		rev.Done()
		want(t, "afterwards", bodies(<-came), "[2 3 4]")
	})
}

// A lease that ends takes the record back to its owner as long as that has more of the key, and then to anybody.
func TestLeasesOfAKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, rs := owners(t, mem.Config{Lease: time.Minute}, 2)
		sendKeyed(t, s, "k", "1", "2", "3")
		take(t, rs[0], 1)
		time.Sleep(30 * time.Second)
		take(t, rs[0], 1)
		time.Sleep(31 * time.Second)
		nothing(t, "while the second is leased", rs[1])
		time.Sleep(30 * time.Second)
		synctest.Wait()
		want(t, "afterwards", bodies(take(t, rs[1], 9)), "[1 2 3]")
	})
}

func TestWeakReleasesOfASequence(t *testing.T) {
	t.Parallel()
	for order, weak := range map[string]mem.Weak{
		"[3 1 2]": {RequeueBehindNew: true}, "[2 1 3]": {RequeueInNackOrder: true}, "[1 2 3]": {CountReleases: true},
	} {
		_, s, rs := owners(t, mem.Config{Weak: weak}, 2)
		sendKeyed(t, s, "k", "1", "2", "3")
		settle(t, rs[0], driver.Release, take(t, rs[0], 2)...)
		ds := take(t, rs[1], 9)
		want(t, fmt.Sprintf("%+v", weak), bodies(ds), order)
		_ = rs[1].Close(t.Context())
		if weak.RequeueBehindNew {
			order = "[3 1 2]" // by now that is the publish order
		}
		if weak.RequeueInNackOrder {
			order = "[1 2 3]"
		}
		want(t, "given up as a whole", bodies(take(t, rs[0], 9)), order)
	}
}

// Late settlements, where they are accepted, find a record of a sequence wherever it is.
func TestLateSettlementsOfASequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		weak := mem.Weak{AcceptLateSettlements: true}
		for _, key := range []string{"k", ""} {
			b, s, rs := owners(t, mem.Config{Weak: weak}, 2)
			sendKeyed(t, s, key, "1", "2", "3")
			old := take(t, rs[0], 9)
			b.Faults().Disconnect(mem.HardCut)
			b.Faults().Reconnect()
			settle(t, rs[0], driver.Done, old[1])
			want(t, "ready", depth(t, b, "", queueTopic("orders")), "ready 2 held 0 in flight 0")
			ds := take(t, rs[1], 9)
			want(t, "came", bodies(ds), "[1 3]")
			settle(t, rs[0], driver.Done, old[0])
			want(t, "in another's hand", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 1")
			releaseIn(t, rs[1], time.Minute, ds[1])
			settle(t, rs[0], driver.Done, old[2])
			want(t, "held", depth(t, b, "", queueTopic("orders")), "ready 0 held 0 in flight 0")
			sendKeyed(t, s, key, "4")
			want(t, "sent afterwards", bodies(take(t, rs[1], 9)), "[4]")
		}
	})
}

func TestDepthOfASequenceKnowsTheOldest(t *testing.T) {
	t.Parallel()
	b, s, rs := owners(t, mem.Config{}, 1)
	var batch []driver.Record
	for i, at := range []driver.Stamp{500, 300, 400, 200} {
		key := []string{"a", "b", "", "a"}[i]
		batch = append(batch, driver.Record{Key: []byte(key), Control: driver.Control{Published: at}})
	}
	if err := s.Send(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	taken := take(t, rs[0], 1)
	d, err := b.Depth(t.Context(), driver.Source{Topics: []driver.Topic{queueTopic("orders")}})
	if err != nil {
		t.Fatal(err)
	}
	want(t, "taken", taken[0].Control.Published, 500)
	want(t, "oldest", d.Oldest.UnixNano(), 200)
}

// Receivers come and go while records are sent; none is lost, and each key stays in order.
func TestSequenceUnderChange(t *testing.T) {
	t.Parallel()
	const keys, each, receivers = 7, 300, 4
	b := open(t, mem.Config{MaxMessages: 100})
	topic := queueTopic("orders")
	s := sender(t, b, driver.Target{Topic: topic})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	change := &changing{t: t, b: b, topic: topic, next: map[string]int{}, left: keys * each, over: stop}
	var all sync.WaitGroup
	for n := range receivers {
		all.Go(func() {
			for round := n; ctx.Err() == nil; round++ {
				change.once(ctx, round)
			}
		})
	}
	for i := range each {
		batch := make([]driver.Record, keys)
		for k := range batch {
			batch[k] = driver.Record{Key: fmt.Appendf(nil, "key %d", (k+i)%keys), Body: fmt.Append(nil, i)}
		}
		if err := s.Send(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	all.Wait()
	want(t, "depth", depth(t, b, "", topic), "ready 0 held 0 in flight 0")
}

// changing are receivers of a sequence that come and go.
type changing struct {
	t     *testing.T
	b     *mem.Broker
	topic driver.Topic
	over  func()

	mu   sync.Mutex // guards the fields below
	next map[string]int
	left int
}

// once opens a receiver for a while. Of what came last it gives half back by closing.
func (c *changing) once(ctx context.Context, round int) {
	r, err := c.b.OpenSequence(ctx, driver.Source{Topics: []driver.Topic{c.topic}, Prefetch: 16})
	if err != nil {
		return
	}
	defer func() { _ = r.Close(context.WithoutCancel(ctx)) }()
	times := 1 + round%5
	for i := range times {
		ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 1+round%9))
		if err != nil {
			return
		}
		if i == times-1 {
			ds = ds[:(len(ds)+1)/2]
		}
		c.note(ds)
		settle(c.t, r, driver.Done, ds...)
		c.mu.Lock()
		if c.left -= len(ds); c.left == 0 {
			c.over()
		}
		c.mu.Unlock()
	}
}

func (c *changing) note(ds []*driver.Delivery) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range ds {
		key, n := string(d.Key), c.next[string(d.Key)]
		want(c.t, "next of "+key, string(d.Body), n)
		c.next[key] = n + 1
	}
}
