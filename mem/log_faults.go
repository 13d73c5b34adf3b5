package mem

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// LogFaults makes a [LogBroker] misbehave while it runs. It is got from [LogBroker.Faults]; all methods may be called
// concurrently. Where a method takes a topic, the empty name is every topic; where one takes a number, the fault happens to the
// next n and is over, a negative number is every one, and 0 switches it off.
type LogFaults struct {
	b *LogBroker
}

// Faults returns the switches of b.
func (b *LogBroker) Faults() *LogFaults { return &b.faults }

// Disconnect puts the broker out of reach until [LogFaults.Reconnect], as [Faults.Disconnect] does. What was committed stays.
func (f *LogFaults) Disconnect(how Cut) {
	b := f.b
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cut = how
	for r := range b.receivers {
		if how == HardCut {
			r.loseAll()
		}
		r.rouse()
	}
	b.changed()
}

// Reconnect brings the broker back, with its partitions as they were.
func (f *LogFaults) Reconnect() { f.Disconnect(Connected) }

// changed wakes who waits for the end of a cut. The caller holds the lock.
func (b *LogBroker) changed() {
	close(b.change)
	b.change = make(chan struct{})
}

// loseAll ends every tenure of the receiver at once.
func (r *logReceiver) loseAll() {
	r.fallOut("")
	for len(r.shares) > 0 {
		r.shares[0].lose()
	}
}

// Revoke ends the tenure of every receiver in every partition of the topic, as a rebalance does. For grace they may settle what they
// have in hand, and receive nothing of it; then, or once they say that they are done, the partitions go to who receives.
// Without grace the tenures are lost at once. Revoke returns how many they are, and waits for nothing.
func (f *LogFaults) Revoke(topic string, grace time.Duration) int {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	told := 0
	for r := range f.b.receivers {
		told += r.revoke(topic, grace)
	}
	return told
}

// RevokeReceiver is [LogFaults.Revoke] for one receiver of this broker and all its topics. A closed one has no tenure to end.
func (f *LogFaults) RevokeReceiver(r driver.Receiver, grace time.Duration) error {
	one, err := f.own(r)
	if err != nil {
		return err
	}
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	if !one.closed {
		one.revoke("", grace)
	}
	return nil
}

// Crash ends a receiver as if its process had died: it commits nothing more, and what it knew beside the commits is gone. All its
// calls return [driver.ErrClosed] from now on. Its partitions go to others at once, where a broker would wait for its heartbeat.
func (f *LogFaults) Crash(r driver.Receiver) error {
	one, err := f.own(r)
	if err != nil {
		return err
	}
	f.b.mu.Lock()
	first := one.detach()
	f.b.mu.Unlock()
	if first {
		one.end()
	}
	return nil
}

func (f *LogFaults) own(r driver.Receiver) (*logReceiver, error) {
	one, ok := r.(*logReceiver)
	if !ok || one.b != f.b {
		return nil, fmt.Errorf("mem: a %T is no receiver of this broker", r)
	}
	return one, nil
}

// FailCommit has the broker refuse the next n commits of a topic: the settlements of the topic in one call of Settle. They fail,
// and may be tried again.
func (f *LogFaults) FailCommit(topic string, n int) {
	f.count(f.b.refuse, topic, n)
}

// LoseCommit has the next n commits of a partition of the topic get lost on their way: Settle returns nil, and a crash brings back
// what it settled. The next commit says all of it again.
func (f *LogFaults) LoseCommit(topic string, n int) {
	f.count(f.b.lose, topic, n)
}

// CutAfterCommit cuts the connection after the next n settlements of the topic were committed, neighbours in a batch not included:
// they fail with [driver.ErrDisconnected]. To settle one again is [driver.ErrRevoked], and what was released comes again.
func (f *LogFaults) CutAfterCommit(topic string, n int) { f.count(f.b.unanswered, topic, n) }

// CutBefore cuts the connection before the next n records sent to the topic are written, as [Faults.CutBefore] does.
func (f *LogFaults) CutBefore(topic string, n int) { f.count(f.b.cutBefore, topic, n) }

// CutAfter cuts it after they were written, as [Faults.CutAfter] does.
func (f *LogFaults) CutAfter(topic string, n int) { f.count(f.b.cutAfter, topic, n) }

// counters says for each topic, or with the empty name for every, how often something is still to happen. The broker's lock
// guards it.
type counters map[string]*counter

// happens reports whether it happens now.
func (cs counters) happens(topic string) bool {
	for _, name := range []string{topic, ""} {
		if c := cs[name]; c != nil && c.next() {
			return true
		}
	}
	return false
}

func (f *LogFaults) count(cs counters, topic string, n int) {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	c := counter(n)
	cs[topic] = &c
}

// DamageStates changes what stands beside the commits of a group, as another program may: whoever has a partition next is given
// all from the commit position on. The group of a queue has no name.
func (f *LogFaults) DamageStates(topic, group string) {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	t := f.b.topics[topic]
	if t == nil {
		return
	}
	for _, g := range t.groups {
		if g.name != group {
			continue
		}
		for _, s := range g.shares {
			for _, c := range s.cursors {
				c.state = damaged(c.state)
			}
		}
	}
}

// damaged is a state with another last byte, of its check. The empty state has nothing to damage.
func damaged(state string) string {
	if state == "" {
		return ""
	}
	return state[:len(state)-1] + string(rune(state[len(state)-1]^1))
}

// SetCommit sets the commit position of a group in a partition of the topic, back or ahead, as an operator or another program may.
// What stands beside it stays, and is of another position. Whoever has the partition now goes on with what it knows, and its
// next commit stands over this one; the next to have it begins here. What is skipped that way is lost, and not counted. The
// position is one that is kept, or the end. The group of a queue has no name.
func (f *LogFaults) SetCommit(topic, group string, number int, position uint64) error {
	f.b.mu.Lock()
	defer f.b.mu.Unlock()
	t := f.b.topics[topic]
	if t == nil {
		return fmt.Errorf("mem: topic %q: %w", topic, driver.ErrNoTopic)
	}
	i := slices.IndexFunc(t.groups, func(g *logGroup) bool { return g.name == group })
	if i < 0 {
		return fmt.Errorf("mem: group %q of topic %q: %w", group, topic, driver.ErrNoTopic)
	}
	shares := t.groups[i].shares
	if number < 0 || number >= len(shares) {
		return fmt.Errorf("mem: topic %q has partitions 0 to %d, and not %d", topic, len(shares)-1, number)
	}
	c := shares[number].cursors[0]
	if position < c.log.base || position > c.log.end() {
		return fmt.Errorf("mem: partition %s keeps %d to %d, and not %d", c.log.name, c.log.base, c.log.end(), position)
	}
	c.commit = position
	return nil
}

var errCommit = errors.New("mem: the commit was refused by a fault switch")

// refuses says why a settlement of the topic cannot be committed now. All of one call that are of one topic fare alike.
func (b *LogBroker) refuses(topic string, known map[string]bool) error {
	if b.cut != Connected {
		return errAway
	}
	refused, ok := known[topic]
	if !ok {
		refused = b.refuse.happens(topic)
		known[topic] = refused
	}
	if refused {
		return errCommit
	}
	return nil
}

// WipeTopology makes every topic, group and record vanish, as a broker does that starts again without its data. What is in hand is
// lost. Receivers fail once with [driver.ErrDisconnected]; their next Receive declares what they need again, or fails with
// [driver.ErrNoTopic] where they may not. Senders do so in their next Send.
func (f *LogFaults) WipeTopology() {
	b := f.b
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.receivers {
		r.loseAll()
		r.groups, r.reads, r.wiped = nil, nil, wipedAway
	}
	for _, t := range b.topics {
		t.end()
	}
	if !b.closed {
		b.topics = map[string]*logTopic{}
	}
}

// Inject puts a record on a topic as a foreign program would, without waiting for room, and without Control. Reserved headers are
// read as a backend reads them off the wire, and are no headers of the delivery. It fails with [driver.ErrNoTopic] when the topic
// is unknown.
func (f *LogFaults) Inject(topic string, r driver.Record) error {
	b := f.b
	b.mu.Lock()
	defer b.mu.Unlock()
	t := b.topics[topic]
	if t == nil {
		return fmt.Errorf("mem: topic %q: %w", topic, driver.ErrNoTopic)
	}
	foreign(&r)
	t.main.pick(r.Key).push(newLogRecord(&r, r.Size()))
	return nil
}
