package mem_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func openLog(tb testing.TB, c mem.LogConfig) *mem.LogBroker {
	tb.Helper()
	b := mem.NewLog(c)
	tb.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return b
}

func logSender(tb testing.TB, b *mem.LogBroker, t driver.Target) driver.Sender {
	tb.Helper()
	s, err := b.OpenSender(tb.Context(), t)
	if err != nil {
		tb.Fatalf("open sender: %v", err)
	}
	return s
}

func logReceiver(tb testing.TB, b *mem.LogBroker, group string, topics ...driver.Topic) driver.Receiver {
	tb.Helper()
	s := driver.Source{Topics: topics, Group: group, Prefetch: 64}
	openIt := b.OpenSequence
	if group != "" {
		openIt = b.OpenGroupSequence
	}
	r, err := openIt(tb.Context(), s)
	if err != nil {
		tb.Fatalf("open receiver: %v", err)
	}
	return r
}

// oneLog is a log with one partition, a sender to its queue and a receiver.
func oneLog(tb testing.TB, c mem.LogConfig) (*mem.LogBroker, driver.Sender, driver.Receiver) {
	tb.Helper()
	c.Partitions = 1
	b := openLog(tb, c)
	topic := queueTopic("orders")
	return b, logSender(tb, b, driver.Target{Topic: topic}), logReceiver(tb, b, "", topic)
}

func keyedRecords(key string, bodies ...string) []driver.Record {
	rs := records(bodies...)
	for i := range rs {
		rs[i].Key = []byte(key)
	}
	return rs
}

// noneNow wants that a receiver has nothing now.
func noneNow(tb testing.TB, r driver.Receiver) {
	tb.Helper()
	ds, err := r.Receive(brief(tb), make([]*driver.Delivery, 0, 9))
	if len(ds) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		tb.Errorf("%v came, and %v", bodies(ds), err)
	}
}

func told(tb testing.TB, r driver.Receiver) driver.Revocation {
	tb.Helper()
	rv, ok := r.(driver.Revoker)
	if !ok {
		tb.Fatalf("%T", r)
	}
	select {
	case rev := <-rv.Revocations():
		return rev
	default:
		tb.Fatal("no revocation was told")
		return driver.Revocation{}
	}
}

func logDepth(tb testing.TB, b *mem.LogBroker, group string, topics ...driver.Topic) string {
	tb.Helper()
	d, err := b.Depth(tb.Context(), driver.Source{Topics: topics, Group: group})
	if err != nil {
		tb.Fatal(err)
	}
	return fmt.Sprintf("ready %d held %d in flight %d", d.Ready, d.Held, d.InFlight)
}

// Fault 1: a commit must not pass what is unfinished, and what is finished above it does not come again.
func TestFault1LogCommitPassesNoGap(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*mem.LogBroker, driver.Receiver) error{
		"crash":  func(b *mem.LogBroker, r driver.Receiver) error { return b.Faults().Crash(r) },
		"revoke": func(b *mem.LogBroker, r driver.Receiver) error { return b.Faults().RevokeReceiver(r, 0) },
		"close":  func(_ *mem.LogBroker, r driver.Receiver) error { return r.Close(context.Background()) },
		"cut": func(b *mem.LogBroker, _ driver.Receiver) error {
			b.Faults().Disconnect(mem.HardCut)
			b.Faults().Reconnect()
			return nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b, s, r := oneLog(t, mem.LogConfig{})
			send(t, s, "0", "1", "2", "3", "4")
			ds := take(t, r, 5)
			settle(t, r, driver.Done, ds[1], ds[3])
			p := b.Positions("orders", "")[0]
			want(t, "commit", fmt.Sprint(p.Commit, " of ", p.End), "0 of 5")
			if !strings.HasPrefix(p.State, "gap1") {
				t.Errorf("beside the commit stands %q", p.State)
			}
			if err := end(b, r); err != nil {
				t.Fatal(err)
			}
			next := logReceiver(t, b, "", queueTopic("orders"))
			again := take(t, next, 9)
			want(t, "again", bodies(again), "[0 2 4]")
			wantErr(t, "late settlement", r.Settle(t.Context(), []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}}), driver.ErrRevoked)
			settle(t, next, driver.Done, again...)
			p = b.Positions("orders", "")[0]
			want(t, "commit at the end", fmt.Sprint(p.Commit, p.State), "5")
		})
	}
}

func TestLogReleasedComesFromMemory(t *testing.T) {
	t.Parallel()
	b, s, r := oneLog(t, mem.LogConfig{})
	send(t, s, "0", "1", "2")
	ds := take(t, r, 3)
	settle(t, r, driver.Done, ds[0])
	settle(t, r, driver.Release, ds[2], ds[1])
	want(t, "depth", logDepth(t, b, "", queueTopic("orders")), "ready 2 held 0 in flight 0")
	again := take(t, r, 9)
	want(t, "again", bodies(again), "[1 2]")
	want(t, "tenure", again[0].Tenure, ds[0].Tenure)
	if again[0] == ds[1] || again[0].Token == ds[1].Token {
		t.Error("the delivery or its token is the old one")
	}
	settle(t, r, driver.Done, again...)
}

func TestLogRefusedCommitIsTriedAgain(t *testing.T) {
	t.Parallel()
	b, s, r := oneLog(t, mem.LogConfig{})
	send(t, s, "0", "1")
	ds := take(t, r, 2)
	b.Faults().FailCommit("orders", 1)
	batch := []driver.Settlement{{Delivery: ds[0], Verdict: driver.Done}, {Delivery: ds[1], Verdict: driver.Done}}
	err := r.Settle(t.Context(), batch)
	if err == nil || errors.Is(err, driver.ErrRevoked) || driver.EntryError(err, 1) == nil {
		t.Errorf("the refused commit: %v", err)
	}
	want(t, "commit", b.Positions("orders", "")[0].Commit, uint64(0))
	settle(t, r, driver.Done, ds...)
	want(t, "commit", b.Positions("orders", "")[0].Commit, uint64(2))
}

func TestLogLostCommitsAndDamagedStatesRepeat(t *testing.T) {
	t.Parallel()
	b, s, r := oneLog(t, mem.LogConfig{})
	send(t, s, "0", "1", "2")
	ds := take(t, r, 3)
	b.Faults().LoseCommit("orders", 1)
	settle(t, r, driver.Done, ds[0])
	want(t, "lost", b.Positions("orders", "")[0].Commit, uint64(0))
	settle(t, r, driver.Done, ds[2]) // which says both
	want(t, "then", b.Positions("orders", "")[0].Commit, uint64(1))
	b.Faults().DamageStates("orders", "")
	if err := b.Faults().Crash(r); err != nil {
		t.Fatal(err)
	}
	next := logReceiver(t, b, "", queueTopic("orders"))
	again := take(t, next, 9)
	want(t, "all from the commit on", bodies(again), "[1 2]")
	settle(t, next, driver.Done, again...)
}

// Fault 14: a window that is full says so, and behind what.
func TestFault14FullLogWindowIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := oneLog(t, mem.LogConfig{MaxState: 24})
		for i := range 60 {
			send(t, s, fmt.Sprint(i))
		}
		waiter, ok := r.(driver.Waiter)
		if !ok {
			t.Fatalf("%T", r)
		}
		var odd []*driver.Delivery // every second stays in hand, so that the finished ones are runs of one
		for waiter.Waiting() == "" {
			ds := take(t, r, 2)
			odd = append(odd, ds[0])
			settle(t, r, driver.Done, ds[1:]...)
		}
		want(t, "waiting", waiter.Waiting(), "partition orders/0: log window full behind position 0")
		noneNow(t, r)
		if n := len(b.Positions("orders", "")[0].State); n > 24 {
			t.Errorf("the state has %d bytes, of 24", n)
		}
		settle(t, r, driver.Done, odd...)
		want(t, "waiting", waiter.Waiting(), "")
		settle(t, r, driver.Done, take(t, r, 60)...)
	})
}

func TestLogKeyOrderIsKeptByPartitions(t *testing.T) {
	t.Parallel()
	b := openLog(t, mem.LogConfig{Partitions: 4})
	topic := queueTopic("orders")
	s := logSender(t, b, driver.Target{Topic: topic})
	// FNV-1a of "a" is 0xe40c292c, of "b" 0xe70c2de5: partitions 0 and 1.
	for _, key := range []string{"a", "b", "a", "b", "a"} {
		if err := s.Send(t.Context(), keyedRecords(key, "x")); err != nil {
			t.Fatal(err)
		}
	}
	var ends []uint64
	for _, p := range b.Positions("orders", "") {
		ends = append(ends, p.End)
	}
	want(t, "with keys", ends, "[3 2 0 0]")
	send(t, s, "0", "1", "2", "3")
	ends = ends[:0]
	for _, p := range b.Positions("orders", "") {
		ends = append(ends, p.End)
	}
	want(t, "without, in turn", ends, "[4 3 1 1]")
}

func TestLogPartitionsMoveWithTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openLog(t, mem.LogConfig{Partitions: 2, Rebalance: 5 * time.Second})
		topic := queueTopic("orders")
		s, r := logSender(t, b, driver.Target{Topic: topic}), logReceiver(t, b, "", topic)
		send(t, s, "0", "1", "2", "3")
		ds := take(t, r, 4) // both partitions have something in hand
		other := logReceiver(t, b, "", topic)
		noneNow(t, other)
		rev := told(t, r)
		want(t, "lost", rev.Lost, false)
		if left := time.Until(rev.Until); left <= 0 || left > 5*time.Second {
			t.Errorf("until %v from now", left)
		}
		want(t, "waiting", r.(driver.Waiter).Waiting()+", "+other.(driver.Waiter).Waiting(), "rebalancing, rebalancing")
		noneNow(t, r)
		var kept []*driver.Delivery
		for _, d := range ds {
			if d.Tenure == rev.Tenure {
				kept = append(kept, d)
			} else {
				settle(t, r, driver.Done, d)
			}
		}
		settle(t, r, driver.Done, kept[0]) // until then it is settled
		rev.Done()
		again := take(t, other, 9)
		want(t, "handed over", bodies(again), bodies(kept[1:]))
		settle(t, other, driver.Done, again...)
		// What nothing is in hand of moves at once.
		third := logReceiver(t, b, "", topic)
		noneNow(t, third)
		want(t, "third", third.(driver.Waiter).Waiting(), "no partition is left for it: the group has more receivers than partitions")
		if err := other.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "third", third.(driver.Waiter).Waiting(), "")
		if err := third.Close(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, "closed", third.(driver.Waiter).Waiting(), "")
	})
}

func TestLogIdlePartitionsMoveFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openLog(t, mem.LogConfig{Partitions: 4})
		topic := queueTopic("orders")
		s, r := logSender(t, b, driver.Target{Topic: topic}), logReceiver(t, b, "", topic)
		if err := s.Send(t.Context(), keyedRecords("a", "0")); err != nil {
			t.Fatal(err)
		}
		ds := take(t, r, 1)
		other := logReceiver(t, b, "", topic)
		noneNow(t, other)
		for range 2 {
			rev := told(t, r)
			want(t, "idle", fmt.Sprint(rev.Lost, rev.Tenure == ds[0].Tenure), "true false")
		}
		settle(t, r, driver.Done, ds...)
	})
}

func TestLogRevocationsDoNotBlock(t *testing.T) {
	t.Parallel()
	b := openLog(t, mem.LogConfig{Partitions: 50})
	topic := queueTopic("orders")
	s, r := logSender(t, b, driver.Target{Topic: topic}), logReceiver(t, b, "", topic)
	send(t, s, "x")
	settle(t, r, driver.Done, take(t, r, 9)...)
	want(t, "ended", b.Faults().Revoke("orders", 0), 50) // nobody reads what is told
	seen := map[uint64]bool{}
	for range 50 {
		rev := <-r.(driver.Revoker).Revocations()
		seen[rev.Tenure] = true
	}
	want(t, "told", len(seen), 50)
	b.Faults().Revoke("orders", 0)
	if err := r.Close(t.Context()); err != nil { // and it does not wait either
		t.Error(err)
	}
}
