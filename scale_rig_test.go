package wherry_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A toldBroker is an in-process broker that says of its sources what it was told to, and whose receivers can be ended one
// by one. Its receivers have no abilities.
type toldBroker struct {
	*mem.Broker

	mu     sync.Mutex // guards the fields below
	ready  int64
	age    time.Duration
	failed error // of Depth
	refuse error // of OpenQueue and OpenBroadcast
	opens  []time.Time
	alive  []driver.Receiver
}

func newTold(tb testing.TB) *toldBroker { return &toldBroker{Broker: newMem(tb)} }

// tell sets what the broker says.
func (b *toldBroker) tell(ready int64, age time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready, b.age = ready, age
}

func (b *toldBroker) fail(depth, open error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed, b.refuse = depth, open
}

// Depth implements [driver.Inspector].
func (b *toldBroker) Depth(context.Context, driver.Source) (driver.Depth, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	d := driver.Depth{Ready: b.ready}
	if b.age > 0 {
		d.Oldest = time.Now().Add(-b.age)
	}
	return d, b.failed
}

// OpenQueue implements [driver.Queuer].
func (b *toldBroker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opens = append(b.opens, time.Now())
	if b.refuse != nil {
		return nil, b.refuse
	}
	return b.keep(b.Broker.OpenQueue(ctx, s))
}

// OpenSequence implements [driver.Sequencer].
func (b *toldBroker) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opens = append(b.opens, time.Now())
	return b.keep(b.Broker.OpenSequence(ctx, s))
}

// OpenBroadcast implements [driver.Broadcaster].
func (b *toldBroker) OpenBroadcast(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opens = append(b.opens, time.Now())
	if b.refuse != nil {
		return nil, b.refuse
	}
	return b.keep(b.Broker.OpenBroadcast(ctx, s))
}

func (b *toldBroker) keep(r driver.Receiver, err error) (driver.Receiver, error) {
	if err != nil {
		return nil, err
	}
	b.alive = append(b.alive, plain{r})
	return plain{r}, nil
}

// plain is a receiver without abilities.
type plain struct{ driver.Receiver }

// kill ends the nth of the receivers that were opened.
func (b *toldBroker) kill(tb testing.TB, n int) {
	tb.Helper()
	b.mu.Lock()
	r := b.alive[n]
	b.mu.Unlock()
	if err := r.Close(context.Background()); err != nil {
		tb.Error(err)
	}
}

func (b *toldBroker) openedAt() []time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]time.Time(nil), b.opens...)
}

// dial is a strategy that wants what it is set to.
type dial struct {
	want atomic.Int64
	mu   sync.Mutex
	last wherry.ScaleSnapshot
}

// Scale implements [wherry.Scaler].
func (d *dial) Scale(s wherry.ScaleSnapshot) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last = s
	return int(d.want.Load())
}

func (d *dial) snapshot() wherry.ScaleSnapshot {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

const dialEvery = 10 * time.Millisecond

// between lets the dial set the number of workers within twice dialEvery.
func (d *dial) between(least, most int) wherry.ConsumerOption {
	d.want.Store(int64(least))
	return wherry.WorkersBetween(least, most,
		wherry.ScaleBy(d), wherry.ScaleEvery(dialEvery), wherry.ScaleAfter(0), wherry.ScaleCooldown(0))
}

// done acknowledges.
func done(context.Context, *wherry.Message[order]) wherry.Outcome { return wherry.Ack() }
