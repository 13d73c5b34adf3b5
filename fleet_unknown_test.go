package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A doubtful is a broker in process whose answer to what waits is changed on the way.
type doubtful struct {
	*mem.Broker
	mu     sync.Mutex // guards the field below
	answer func(d driver.Depth) (driver.Depth, error)
}

func (b *doubtful) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	d, err := b.Broker.Depth(ctx, s)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil || b.answer == nil {
		return d, err
	}
	return b.answer(d)
}

// OpenQueue opens a receiver that does not know what waits for it, or it would contradict the broker.
func (b *doubtful) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := b.Broker.OpenQueue(ctx, s)
	if err != nil {
		return nil, err
	}
	return struct{ driver.Receiver }{r}, nil
}

func (b *doubtful) set(answer func(d driver.Depth) (driver.Depth, error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.answer = answer
}

// A silent is a broker that is no inspector.
type silent struct{ driver.Queuer }

var errAsked = errors.New("too many questions")

func unanswered(driver.Depth) (driver.Depth, error) { return driver.Depth{}, errAsked }

// A stop that cannot find out whether a broker that forgets is empty says so, and is not clean.
func TestFault25StopSaysWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	const drain = 3 * time.Second
	for name, c := range map[string]struct {
		answer  func(d driver.Depth) (driver.Depth, error)
		silent  bool
		pause   bool
		delay   time.Duration // of the message that waits
		left    int
		unknown error // nil wants nil of Run
		text    string
		took    time.Duration
	}{
		"no answer": {
			answer: unanswered, delay: time.Minute, unknown: errAsked, took: drain,
			text: "stopped, and how many messages are left in orders is not known: too many questions",
		},
		"no answer while nothing waits": {answer: unanswered, unknown: errAsked, took: drain, text: "is not known"},
		"no answer in a pause":          {answer: unanswered, pause: true, delay: time.Minute, unknown: errAsked, text: "is not known"},
		"half of an answer": {
			answer: func(d driver.Depth) (driver.Depth, error) {
				return driver.Depth{Ready: 2, Held: -1, InFlight: d.InFlight}, nil
			},
			delay: time.Minute, left: 2, unknown: errors.ErrUnsupported, took: drain,
			text: "stopped with 2 messages left in orders, and how many more is not known: *wherry_test.doubtful does not tell all that it holds",
		},
		"never an answer": {
			silent: true, delay: time.Minute, unknown: errors.ErrUnsupported,
			text: "is not known: wherry_test.silent is not a driver.Inspector",
		},
		"no such topic": {
			answer: func(driver.Depth) (driver.Depth, error) { return driver.Depth{}, driver.ErrNoTopic },
		},
		"an answer": {delay: 2 * time.Second, took: 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := &doubtful{Broker: newMem(t)}
				publishIn(t, b, c.delay)
				var q driver.Queuer = b
				if c.silent {
					q = silent{b}
				}
				worker := wherry.Consume(wherry.Queue(q, orders), done, wherry.DrainTime(drain))
				if c.pause {
					worker.Pause("on purpose")
				}
				r := start(t, worker)
				synctest.Wait()
				b.set(c.answer)
				began := time.Now()
				err := r.end()
				took := time.Since(began)
				assert.True(t, took >= c.took && took < c.took+100*time.Millisecond, "it took "+took.String())
				if c.unknown == nil {
					assert.NoError(t, err)
					return
				}
				left, ok := errors.AsType[*wherry.AbandonedError](err)
				if !ok {
					t.Fatalf("Run returned %v", err)
				}
				assert.ErrorIs(t, err, c.unknown)
				assert.Equal(t, left.Left, c.left)
				assert.True(t, strings.Contains(err.Error(), c.text), fmt.Sprintf("the text is %q", err))
			})
		})
	}
}

// publishIn publishes a message that is due after d, none for 0.
func publishIn(t *testing.T, b *doubtful, d time.Duration) {
	t.Helper()
	p, err := wherry.NewPublisher(t.Context(), b, orders)
	assert.NoError(t, err)
	if d > 0 {
		assert.NoError(t, p.Publish(t.Context(), &order{ID: 1}, wherry.WithDelay(d)))
	}
	assert.NoError(t, p.Close(t.Context()))
}

// A question that fails once does not end the stop: what is left is handled when the broker answers again.
func TestFault25StopAsksAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &doubtful{Broker: newMem(t)}
		publishIn(t, b, time.Second)
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Value.ID)
			return wherry.Ack()
		}))
		synctest.Wait()
		b.set(unanswered)
		time.AfterFunc(500*time.Millisecond, func() { b.set(nil) })
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"1"})
	})
}

// A consumer that stalls is found, and stays so, though every other question of what waits fails.
func TestStallThoughQuestionsFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := &doubtful{Broker: newMem(t)}
		b.set(func(d driver.Depth) (driver.Depth, error) {
			d.Ready = 5
			if time.Now().Second()%2 == 0 {
				return unanswered(d)
			}
			return d, nil
		})
		var ev events
		c := wherry.Consume(wherry.Queue(b, orders), done, wherry.StallAfter(8*time.Second), wherry.DrainTime(0),
			wherry.OnEvent(ev.record))
		r := start(t, c)
		synctest.Wait()
		assert.Equal(t, stalled(t, c, 12*time.Second).State, wherry.StateStalled)
		b.set(unanswered)
		time.Sleep(time.Minute)
		assert.Equal(t, c.Health().State, wherry.StateStalled)
		assert.Equal(t, c.Health().Backlog, -1)
		b.set(nil) // and nothing waits
		time.Sleep(3 * time.Second)
		assert.Equal(t, c.Health().State, wherry.StateRunning)
		assert.Equal(t, len(eventsOf[*wherry.Stalled](&ev)), 1)
		assert.Equal(t, len(eventsOf[*wherry.Recovered](&ev)), 1)
		r.mustEnd()
	})
}
