package mem

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// Broker is a broker in this process. It is made by [New]; the zero Broker is not usable. All methods may be called
// concurrently.
type Broker struct {
	cfg   Config
	wrong error // what is wrong with cfg
	clock clock

	// calm is true while no fault is switched on and no weakness concerns the way of a record, so that one load keeps
	// all of that off the fast path.
	calm   atomic.Bool
	closed atomic.Bool
	done   chan struct{} // closed when Close has finished
	tenure atomic.Uint64 // the last tenure's number
	faults Faults

	mu        sync.Mutex // guards the fields below; taken before any queue's
	topics    map[string]*topic
	missed    map[string]*atomic.Int64 // by the name of each topic that ever had a broadcast reader
	lastQueue uint64
	receivers map[*receiver]struct{}
}

var (
	_ driver.Queuer         = (*Broker)(nil)
	_ driver.Grouper        = (*Broker)(nil)
	_ driver.Broadcaster    = (*Broker)(nil)
	_ driver.Sequencer      = (*Broker)(nil)
	_ driver.GroupSequencer = (*Broker)(nil)
	_ driver.Inspector      = (*Broker)(nil)
	_ driver.Declarer       = (*Broker)(nil)
	_ driver.Describer      = (*Broker)(nil)
)

// New returns an empty broker. Mistakes in c are reported by every later call but Close, all of them together, so that
// New stays one expression.
func New(c Config) *Broker {
	b := &Broker{
		cfg:       c,
		wrong:     c.check(),
		done:      make(chan struct{}),
		topics:    map[string]*topic{},
		missed:    map[string]*atomic.Int64{},
		receivers: map[*receiver]struct{}{},
	}
	b.cfg.fill()
	b.clock.start = time.Now()
	b.faults.b = b
	b.calm.Store(!b.cfg.Weak.odd())
	return b
}

// usable returns why nothing can be opened. The caller holds b.mu.
func (b *Broker) usable() error {
	switch {
	case b.closed.Load():
		return errBrokerClosed
	case b.wrong != nil:
		return b.wrong
	case b.topics == nil:
		return errors.New("mem: a broker that was not made by New")
	default:
		return b.faults.away()
	}
}

// OpenSender prepares to send to t. The sender is a [driver.Holder].
func (b *Broker) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return nil, err
	}
	r, err := b.find(t)
	if err != nil {
		return nil, err
	}
	s := &sender{
		b:      b,
		target: t,
		most:   b.cfg.bound(t.Topic.Role),
		inline: min(inlineCopy, b.cfg.MaxRecord),
		done:   make(chan struct{}),
	}
	s.route.Store(r)
	if b.cfg.Weak.NoHold {
		return plain{s}, nil
	}
	return s, nil
}

// OpenQueue opens one competing consumer of queues. See [Broker.OpenGroup] for what the receiver can do.
func (b *Broker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if s.Group != "" {
		return nil, fmt.Errorf("mem: a queue is opened with group %q", s.Group)
	}
	return b.open(ctx, s, competing)
}

// OpenGroup opens one member of a group, which exists from now on. The receiver is a [driver.Revoker], a [driver.Waiter]
// and a [driver.Sharer], and a [driver.Extender] when the broker has a lease.
func (b *Broker) OpenGroup(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	if s.Group == "" {
		return nil, errors.New("mem: a group is opened without a name")
	}
	return b.open(ctx, s, competing)
}

func (b *Broker) open(ctx context.Context, s driver.Source, how mode) (driver.Receiver, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return nil, err
	}
	r := newReceiver(b, s, how)
	if err := b.join(r); err != nil {
		return nil, err
	}
	b.receivers[r] = struct{}{}
	if b.cfg.Lease > 0 {
		return leased{r}, nil
	}
	return r, nil
}

// sources returns the queues of a source. The caller holds b.mu.
func (b *Broker) sources(s driver.Source) ([]*queue, error) {
	topics, err := b.topicsOf(s, s.Group != "")
	if err != nil {
		return nil, err
	}
	queues := make([]*queue, len(topics))
	for i, t := range topics {
		if queues[i], err = b.declareGroup(t, s.Group, s.Topology); err != nil {
			return nil, err
		}
	}
	return queues, nil
}

// topicsOf returns the topics of a source, which are fan-outs or queues. The caller holds b.mu.
func (b *Broker) topicsOf(s driver.Source, fanouts bool) ([]*topic, error) {
	if len(s.Topics) == 0 {
		return nil, errors.New("mem: a source without topics")
	}
	topics := make([]*topic, 0, len(s.Topics))
	for _, d := range s.Topics {
		if slices.ContainsFunc(topics, func(t *topic) bool { return t.name == d.Name }) {
			return nil, fmt.Errorf("mem: topic %q is twice in one source", d.Name)
		}
		if d.Fanout != fanouts {
			return nil, fmt.Errorf("mem: topic %q is a %s and cannot be opened as a %s",
				d.Name, kind(d.Fanout), consumer(s.Group, fanouts))
		}
		t, err := b.declare(d, s.Topology)
		if err != nil {
			return nil, err
		}
		topics = append(topics, t)
	}
	return topics, nil
}

func consumer(group string, fanouts bool) string {
	switch {
	case group != "":
		return fmt.Sprintf("group (%q)", group)
	case fanouts:
		return "broadcast"
	default:
		return "queue"
	}
}

// Declare makes a topic and its groups, or checks that they are there.
func (b *Broker) Declare(ctx context.Context, t driver.Topic, mode driver.Topology) error {
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

// Depth counts exactly what the source's queues have. Ready records without a time of publishing are left out of Oldest.
// Of fan-outs without a group it counts what all their broadcast readers have together. A topic that does not exist is
// [driver.ErrNoTopic], whatever the source's topology.
func (b *Broker) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	if err := ctx.Err(); err != nil {
		return driver.Depth{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.usable(); err != nil {
		return driver.Depth{}, err
	}
	s.Topology = driver.External // nothing is made for a question
	find := b.sources
	if s.Group == "" && len(s.Topics) > 0 && s.Topics[0].Fanout {
		find = b.readers
	}
	queues, err := find(s)
	if err != nil {
		return driver.Depth{}, err
	}
	var d driver.Depth
	var oldest driver.Stamp
	for _, q := range queues {
		q.depth(&d, &oldest)
	}
	d.Oldest = oldest.Time()
	return d, nil
}

// Close ends everything that was opened, wakes who waits with [driver.ErrClosed], and drops what is held. It does not
// wait for deliveries in hand: a broker that is to be emptied is emptied before.
func (b *Broker) Close(context.Context) error {
	b.mu.Lock()
	if b.closed.Swap(true) {
		b.mu.Unlock()
		<-b.done
		return nil
	}
	receivers, topics := b.receivers, b.topics
	b.receivers, b.topics = nil, nil
	b.mu.Unlock()
	for _, t := range topics {
		for _, q := range t.all() {
			q.end(errBrokerClosed)
		}
	}
	for r := range receivers {
		r.end()
	}
	b.faults.end()
	close(b.done)
	return nil
}
