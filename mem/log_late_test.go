package mem_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// logEvents is a fan-out: its partitions keep what is finished, and a position can be set back.
var logEvents = driver.Topic{Name: "orders", Fanout: true}

func oneGroup(tb testing.TB, c mem.LogConfig) (*mem.LogBroker, driver.Sender, driver.Receiver) {
	tb.Helper()
	c.Partitions = 1
	b := openLog(tb, c)
	r := logReceiver(tb, b, "audit", logEvents)
	return b, logSender(tb, b, driver.Target{Topic: logEvents}), r
}

// A commit that arrives from a receiver that lost the partition stands over the owner's until that commits again. Whoever has
// the partition after it is given again what the owner had finished, and everything that nobody finished.
func TestLogLateCommitRepeatsAndLosesNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ownerAgain bool // commits after the late one
		at         uint64
		again      string
	}{
		"the late one stands": {at: 1, again: "[1 2 3 4]"},
		"the owner's stands":  {ownerAgain: true, at: 4, again: "[4]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, r := oneGroup(t, mem.LogConfig{AcceptLateSettlements: true})
			send(t, s, "0", "1", "2", "3", "4")
			old := take(t, r, 5)
			settle(t, r, driver.Done, old[0])
			if err := b.Faults().RevokeReceiver(r, 0); err != nil {
				t.Fatal(err)
			}
			next := logReceiver(t, b, "audit", logEvents)
			ds := take(t, next, 4)
			want(t, "the owner has", bodies(ds), "[1 2 3 4]")
			settle(t, next, driver.Done, ds[:2]...)
			settle(t, r, driver.Release, old[3]) // gives nothing away
			want(t, "before", b.Positions("orders", "audit")[0].Commit, uint64(3))
			settle(t, r, driver.Done, old[4])
			if c.ownerAgain {
				settle(t, next, driver.Done, ds[2])
			}
			p := b.Positions("orders", "audit")[0]
			want(t, "commit", p.Commit, c.at)
			err := r.Settle(t.Context(), []driver.Settlement{{Delivery: old[4], Verdict: driver.Done}})
			wantErr(t, "once more", err, driver.ErrRevoked)
			if err := b.Faults().Crash(next); err != nil {
				t.Fatal(err)
			}
			third := logReceiver(t, b, "audit", logEvents)
			again := take(t, third, 9)
			if c.ownerAgain {
				want(t, "again", bodies(again), c.again)
			} else {
				want(t, "again", bodies(again), "[1 2 3]") // 4 is finished by the word of the late one
			}
			settle(t, third, driver.Done, again...)
			want(t, "in the end", fmt.Sprint(b.Positions("orders", "audit")[0].Commit), "5")
		})
	}
}

// A position that was set back has all from there handled again, whatever stands beside it; one that was set ahead skips. Who
// has the partition meanwhile goes on, and commits over it.
func TestLogCommitThatIsSet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to        uint64
		ownerGoes bool
		again     string
	}{
		"back":                     {to: 0, again: "[0 1 2 3 4]"},
		"ahead":                    {to: 3, again: "[3 4]"},
		"to the end":               {to: 5, again: "[]"},
		"back, and an owner after": {to: 0, ownerGoes: true, again: "[2 4]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s, r := oneGroup(t, mem.LogConfig{})
			send(t, s, "0", "1", "2", "3", "4")
			ds := take(t, r, 5)
			settle(t, r, driver.Done, ds[0], ds[3])
			if err := b.Faults().SetCommit("orders", "audit", 0, c.to); err != nil {
				t.Fatal(err)
			}
			if c.ownerGoes {
				settle(t, r, driver.Done, ds[1])
			}
			if err := b.Faults().Crash(r); err != nil {
				t.Fatal(err)
			}
			next := logReceiver(t, b, "audit", logEvents)
			if c.again == "[]" {
				noneNow(t, next)
			} else {
				again := take(t, next, 9)
				want(t, "again", bodies(again), c.again)
				settle(t, next, driver.Done, again...)
			}
			want(t, "in the end", b.Positions("orders", "audit")[0].Commit, uint64(5))
		})
	}
}

func TestLogCommitThatCannotBeSet(t *testing.T) {
	t.Parallel()
	b, s, _ := oneGroup(t, mem.LogConfig{})
	send(t, s, "0")
	for name, c := range map[string]struct {
		topic, group string
		number       int
		position     uint64
		missing      bool
	}{
		"topic":     {topic: "order", missing: true},
		"group":     {topic: "orders", missing: true},
		"partition": {topic: "orders", group: "audit", number: 1},
		"none":      {topic: "orders", group: "audit", number: -1},
		"position":  {topic: "orders", group: "audit", position: 2},
	} {
		err := b.Faults().SetCommit(c.topic, c.group, c.number, c.position)
		if err == nil || errors.Is(err, driver.ErrNoTopic) != c.missing {
			t.Errorf("%s: %v", name, err)
		}
	}
}
