package wherry_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// An askedBroker is a toldBroker whose receivers say what waits for them, and count how often they are asked.
type askedBroker struct {
	*toldBroker

	own   atomic.Int64
	asked atomic.Int64
}

func (b *askedBroker) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.counted(b.toldBroker.OpenQueue(ctx, s))
}

func (b *askedBroker) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.counted(b.toldBroker.OpenSequence(ctx, s))
}

func (b *askedBroker) OpenBroadcast(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.counted(b.toldBroker.OpenBroadcast(ctx, s))
}

func (b *askedBroker) counted(r driver.Receiver, err error) (driver.Receiver, error) {
	return ownReceiver{r, b}, err
}

type ownReceiver struct {
	driver.Receiver
	b *askedBroker
}

// Depth implements [driver.ReceiverInspector].
func (a ownReceiver) Depth(context.Context) (driver.Depth, error) {
	a.b.asked.Add(1)
	return driver.Depth{Ready: a.b.own.Load()}, nil
}

// A receiver is asked what waits for itself no more often than the broker is, which may walk over all of it to answer, and not at all
// where the answer is known: by what was handled where all is anybody's, and by the backlog itself of a broadcast.
func TestReceiversAreAskedAsOftenAsTheBroker(t *testing.T) {
	t.Parallel()
	const mostAsks = 60*time.Second/(4*time.Second) + 1
	for name, test := range map[string]struct {
		source      func(b *askedBroker) wherry.Source[step]
		topic       wherry.KeyedTopic[step]
		busy        bool
		least, most int
	}{
		"queue":         {func(b *askedBroker) wherry.Source[step] { return wherry.Queue(b, steps) }, steps, false, 10, int(mostAsks)},
		"busy queue":    {func(b *askedBroker) wherry.Source[step] { return wherry.Queue(b, steps) }, steps, true, 0, 1},
		"sequence":      {func(b *askedBroker) wherry.Source[step] { return wherry.Sequence(b, steps) }, steps, false, 10, int(mostAsks)},
		"busy sequence": {func(b *askedBroker) wherry.Source[step] { return wherry.Sequence(b, steps) }, steps, true, 10, int(mostAsks)},
		"broadcast":     {func(b *askedBroker) wherry.Source[step] { return wherry.Broadcast(b, heardSteps) }, heardSteps, false, 10, int(mostAsks)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &askedBroker{toldBroker: newTold(t)}
				b.tell(5, 0)
				b.own.Store(5)
				c := wherry.Consume(test.source(b), newStage(t).handle)
				r := start(t, c)
				time.Sleep(100 * time.Millisecond)
				for n := range 120 {
					if test.busy {
						publish(t, b, test.topic, step{Key: "a", N: n})
					}
					time.Sleep(500 * time.Millisecond)
				}
				got := int(b.asked.Load())
				if got < test.least || got > test.most {
					t.Errorf("the receiver was asked %d times in a minute, want %d to %d", got, test.least, test.most)
				}
				want := wherry.StateStalled
				if test.busy {
					want = wherry.StateRunning
				}
				assert.Equal(t, c.Health().State, want)
				b.tell(0, 0)
				b.own.Store(0)
				r.mustEnd()
			})
		})
	}
}

// What a receiver said is asked again: what another had comes to this one when that one ends, and is its stall from then on.
func TestAnswerOfAReceiverDoesNotStand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &askedBroker{toldBroker: newTold(t)}
		b.tell(5, 0)
		c := wherry.Consume(wherry.Sequence(b, steps), newStage(t).handle)
		r := start(t, c)
		time.Sleep(10 * time.Minute)
		assert.Equal(t, c.Health().State, wherry.StateRunning)
		b.own.Store(5)
		time.Sleep(30*time.Second + 6*time.Second)
		assert.Equal(t, c.Health().State, wherry.StateStalled)
		b.own.Store(0)
		time.Sleep(6 * time.Second)
		assert.Equal(t, c.Health().State, wherry.StateRunning)
		b.tell(0, 0)
		r.mustEnd()
	})
}
