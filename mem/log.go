package mem

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/wherryhq/wherry/driver"
)

// LogBroker is a broker in this process that is a log, as Kafka and others are: a topic is partitions, which keep what was sent;
// a group has a commit position in each, and its receivers share the partitions. It is made by [NewLog]; the zero LogBroker is
// not usable. All methods may be called concurrently.
//
// Records of a key are in one partition, FNV-1a of the key modulo their number, and come in publish order; those without a key
// take the partitions in turn. A partition belongs to one receiver of a group at a time, for a tenure. Receivers join with their
// first Receive. When one joins or leaves, partitions move, those first of which nothing is in hand. A tenure that ends is told
// by a [driver.Revocation].
//
// Each Settle commits. The commit of a partition never passes an unfinished record, and remembers what is finished above it
// (package gap), so that whoever has the partition next gets nothing twice that fits into [LogConfig.MaxState]. What is released
// comes again to the same receiver, and to another when the tenure ends.
//
// Queues and groups keep their place, from the beginning of a queue and from the making of a group. Broadcast readers begin
// where they are told, as far back as the partitions reach. A record for one group alone is in a log of that group, whose
// partitions go with those of the topic. There are no delays, leases and counts: the engine has other means.
//
// It is for tests and for programs that want a log's behaviour without one. One lock guards it all. It forgets at exit, as every
// broker in the process does.
type LogBroker struct {
	cfg    LogConfig
	wrong  error // what is wrong with cfg
	faults LogFaults

	mu        sync.Mutex // guards all below, and all that hangs on it; held over straight-line code
	closed    bool
	done      chan struct{} // closed when Close has finished
	topics    map[string]*logTopic
	receivers map[*logReceiver]struct{}
	lost      map[lostBy]*int64
	last      uint64 // the last number of a tenure, delivery or topic
	// By Faults: how far it is away, which commits are refused, lost or not answered, and which sends are cut off; change is closed
	// and replaced when a cut begins or ends.
	cut        Cut
	refuse     counters
	lose       counters
	unanswered counters
	cutBefore  counters
	cutAfter   counters
	change     chan struct{}
}

// lostBy names who lost what was dropped: a group of a topic, or its readers.
type lostBy struct {
	topic, group string
	reader       bool
}

var (
	_ driver.Queuer         = (*LogBroker)(nil)
	_ driver.Grouper        = (*LogBroker)(nil)
	_ driver.Broadcaster    = (*LogBroker)(nil)
	_ driver.Sequencer      = (*LogBroker)(nil)
	_ driver.GroupSequencer = (*LogBroker)(nil)
	_ driver.Inspector      = (*LogBroker)(nil)
	_ driver.Declarer       = (*LogBroker)(nil)
	_ driver.Describer      = (*LogBroker)(nil)
)

// NewLog returns an empty broker that is a log. Mistakes in c are reported by every later call but Close, all of them together,
// so that NewLog stays one expression.
func NewLog(c LogConfig) *LogBroker {
	b := &LogBroker{
		cfg:       c,
		wrong:     c.check(),
		done:      make(chan struct{}),
		topics:    map[string]*logTopic{},
		receivers: map[*logReceiver]struct{}{},
		lost:      map[lostBy]*int64{},
		change:    make(chan struct{}),

		refuse: counters{}, lose: counters{}, unanswered: counters{}, cutBefore: counters{}, cutAfter: counters{},
	}
	b.cfg.fill()
	b.faults.b = b
	return b
}

// usable returns why nothing can be opened. The caller holds the lock.
func (b *LogBroker) usable() error {
	switch {
	case b.closed:
		return errBrokerClosed
	case b.wrong != nil:
		return b.wrong
	case b.topics == nil:
		return errors.New("mem: a log broker that was not made by NewLog")
	case b.cut != Connected:
		return errAway
	default:
		return nil
	}
}

// number returns one that was never used.
func (b *LogBroker) number() uint64 {
	b.last++
	return b.last
}

// OpenSender prepares to send to t. The sender is neither a [driver.Holder] nor a [driver.Accepter].
func (b *LogBroker) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return nil, err
	}
	s := &logSender{b: b, target: t, done: make(chan struct{})}
	if err := s.find(); err != nil {
		return nil, err
	}
	return s, nil
}

// OpenQueue opens one receiver of queues. It has no partition before its first Receive. It is a [driver.Revoker] and a
// [driver.Waiter].
func (b *LogBroker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if s.Group != "" {
		return nil, fmt.Errorf("mem: a queue is opened with group %q: use OpenGroup", s.Group)
	}
	return b.open(ctx, s, competing)
}

// OpenGroup opens one member of a group, which exists from now on and sees what is sent from now on. See [LogBroker.OpenQueue].
func (b *LogBroker) OpenGroup(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if s.Group == "" {
		return nil, errors.New("mem: a group is opened without a name")
	}
	return b.open(ctx, s, competing)
}

// OpenSequence is OpenQueue: a partition keeps the order of its keys, and has one owner. Shards of the source are not used,
// since partitions are shards.
func (b *LogBroker) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.OpenQueue(ctx, s)
}

// OpenGroupSequence is OpenGroup, as OpenSequence is OpenQueue.
func (b *LogBroker) OpenGroupSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.OpenGroup(ctx, s)
}

// OpenBroadcast opens a reader of fan-outs, of all partitions. It begins now, at the oldest record that is kept, or at the first
// that came to the broker at a time or later. It keeps no sender waiting: what a partition drops before the reader received
// it is counted by [LogBroker.Missed]. What is sent to one group alone is not for it.
func (b *LogBroker) OpenBroadcast(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if s.Group != "" {
		return nil, fmt.Errorf("mem: a broadcast is opened with group %q: use OpenGroup", s.Group)
	}
	return b.open(ctx, s, reading)
}

func (b *LogBroker) open(ctx context.Context, s driver.Source, how mode) (driver.Receiver, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return nil, err
	}
	r := newLogReceiver(b, s, how)
	if err := r.find(); err != nil {
		return nil, err
	}
	b.receivers[r] = struct{}{}
	return r, nil
}

// Declare makes a topic and its groups, or checks that they are there.
func (b *LogBroker) Declare(ctx context.Context, t driver.Topic, mode driver.Topology) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return err
	}
	_, err := b.declare(t, mode)
	return err
}

// Describe says what the senders and receivers of this broker say of themselves. It is the same for every source.
func (b *LogBroker) Describe(driver.Source) driver.Description {
	return driver.Description{Info: logInfo(), Revokes: true}
}

func logInfo() driver.Info {
	return driver.Info{SettleBatch: settleBatch, SettleLinger: settleLinger, Volatile: true}
}

// Close ends everything that was opened, wakes who waits with [driver.ErrClosed], and drops what is held. It does not wait for
// deliveries in hand: a broker that is to be emptied is emptied before.
func (b *LogBroker) Close(context.Context) error {
	b.mu.Lock()
	if b.closed || b.topics == nil {
		made := b.topics != nil
		b.mu.Unlock()
		if made {
			<-b.done
		}
		return nil
	}
	b.closed = true
	var ended []*logReceiver
	for r := range b.receivers {
		if r.detach() {
			ended = append(ended, r)
		}
	}
	for _, t := range b.topics {
		t.end()
	}
	b.topics = map[string]*logTopic{}
	b.changed()
	b.mu.Unlock()
	for _, r := range ended {
		r.end()
	}
	close(b.done)
	return nil
}
