package wherry_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// logs is a log that does not say that it forgets at exit, so that a stopping consumer leaves messages to the next, and that has
// the receiver which was opened last at hand, to crash it.
type logs struct {
	*mem.LogBroker

	mu   *sync.Mutex
	last *driver.Receiver
}

func newLogs(tb testing.TB, c mem.LogConfig) logs {
	tb.Helper()
	c.Poison = true
	b := mem.NewLog(c)
	tb.Cleanup(func() {
		if err := b.Close(context.Background()); err != nil {
			tb.Errorf("close broker: %v", err)
		}
	})
	return logs{LogBroker: b, mu: new(sync.Mutex), last: new(driver.Receiver)}
}

func (b logs) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.kept(b.LogBroker.OpenQueue(ctx, s))
}

func (b logs) OpenSequence(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.kept(b.LogBroker.OpenSequence(ctx, s))
}

func (b logs) kept(r driver.Receiver, err error) (driver.Receiver, error) {
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	*b.last = r
	return keeper{r.(keptReceiver)}, nil
}

// crash kills the receiver that was opened last.
func (b logs) crash(tb testing.TB) {
	tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.Faults().Crash(*b.last); err != nil {
		tb.Error(err)
	}
}

func (b logs) left(tb testing.TB, topic string) int64 {
	tb.Helper()
	d, err := b.Depth(tb.Context(), driver.Source{Topics: []driver.Topic{{Name: topic}}})
	if err != nil {
		tb.Fatal(err)
	}
	return d.Ready + d.InFlight
}

func ordersTo(n int) []order {
	all := make([]order, n)
	for i := range all {
		all[i].ID = i
	}
	return all
}

func TestFault1LogCommitStaysAtTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLogs(t, mem.LogConfig{Partitions: 1})
		publish(t, b, orders, ordersTo(10)...)
		var handled calls
		stuck := make(chan struct{})
		var begun atomic.Bool
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID == 0 && begun.CompareAndSwap(false, true) {
				<-stuck
				return wherry.Ack()
			}
			handled.add("%d", m.Value.ID)
			return wherry.Ack()
		}, wherry.Concurrency(4)))
		time.Sleep(time.Second)
		assert.Equal(t, len(handled.all()), 9)
		p := b.Positions("orders", "")[0]
		assert.Equal(t, p.Commit, uint64(0))
		b.crash(t)
		time.Sleep(time.Second) // another receiver takes its place
		assert.Equal(t, handled.all()[9:], []string{"0"})
		assert.Equal(t, b.Positions("orders", "")[0].Commit, uint64(10))
		close(stuck)
		r.mustEnd()
	})
}

func TestFault10LogRebalanceFinishesWhatIsInHand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLogs(t, mem.LogConfig{Partitions: 2})
		const n, concurrency = 60, 4
		publish(t, b, orders, ordersTo(n)...)
		var handled calls
		slow := func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			time.Sleep(time.Second)
			handled.add("%d", m.Value.ID)
			return wherry.Ack()
		}
		consumer := func() *wherry.Consumer {
			return wherry.Consume(wherry.Queue(b, orders), slow, wherry.Concurrency(concurrency), wherry.Prefetch(256))
		}
		one := start(t, consumer())
		time.Sleep(1500 * time.Millisecond)
		b.Faults().Revoke("orders", 3*time.Second)
		two := start(t, consumer())
		time.Sleep(time.Minute)
		assert.Equal(t, b.left(t, "orders"), 0)
		seen := map[string]int{}
		for _, id := range handled.all() {
			seen[id]++
		}
		assert.Equal(t, len(seen), n)
		if repeats := len(handled.all()) - n; repeats > concurrency {
			t.Errorf("%d messages were handled again, with %d in hand", repeats, concurrency)
		}
		one.mustEnd()
		two.mustEnd()
	})
}

func TestFault14LogPartitionsAreHandledBesideEachOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLogs(t, mem.LogConfig{Partitions: 2})
		met := make(chan struct{})
		r := start(t, wherry.Consume(wherry.Sequence(b, steps), func(ctx context.Context, _ *wherry.Message[step]) wherry.Outcome {
			select { // each waits for the other
			case met <- struct{}{}:
			case <-met:
			case <-ctx.Done():
				t.Error("one was handled alone")
			}
			return wherry.Ack()
		}, wherry.Concurrency(2)))
		publish(t, b, steps, stepsOf(1, "a", "b")...)
		time.Sleep(time.Second)
		assert.Equal(t, b.left(t, "steps"), 0)
		r.mustEnd()
	})
}

// Consumers of a sequence join, leave and lose partitions. No key is handled twice at once, and each in order.
func TestFault38LogSequenceKeepsOrderThroughHandOvers(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 4))
			var mu sync.Mutex
			roll := func(n int) int {
				mu.Lock()
				defer mu.Unlock()
				return r.IntN(n)
			}
			s := newStage(t)
			s.takes = func(step, int) time.Duration { return time.Duration(roll(20)) * time.Millisecond }
			s.result = func(step, int) wherry.Outcome {
				if roll(10) == 0 {
					return wherry.RetryAfter(time.Duration(roll(100))*time.Millisecond, errStep)
				}
				return wherry.Ack()
			}
			keys := manyKeys(10)
			const each = 30
			b := newLogs(t, mem.LogConfig{Partitions: 1 + roll(6)})
			publish(t, b, steps, stepsOf(each, keys...)...)
			consume := func() *run {
				return start(t, wherry.Consume(wherry.Sequence(b, steps), s.handle, wherry.Concurrency(1+roll(4)), wherry.Workers(1+roll(2)),
					wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1000})))
			}
			runs := []*run{consume()}
			for limit := time.Now().Add(time.Hour); b.left(t, "steps") > 0; {
				if time.Now().After(limit) {
					t.Fatalf("%d are left after an hour", b.left(t, "steps"))
				}
				time.Sleep(time.Duration(1+roll(200)) * time.Millisecond)
				switch k := roll(4); {
				case k == 0 && len(runs) < 3:
					runs = append(runs, consume())
				case k == 1 && len(runs) > 1:
					runs[0].mustEnd()
					runs = runs[1:]
				case k == 2:
					b.Faults().Revoke("steps", 5*time.Second)
				}
			}
			for _, one := range runs {
				one.mustEnd()
			}
			s.inOrder(each, keys...)
		})
	}
}

func TestLogGroupSequences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLogs(t, mem.LogConfig{})
		topic := wherry.NewKeyedTopic("moves", jsonSteps, stepKey, wherry.Fanout("one", "two"))
		one, two := newStage(t), newStage(t)
		keys := manyKeys(20)
		var runs []*run
		for group, s := range map[string]*stage{"one": one, "two": two} {
			for range 2 {
				runs = append(runs, start(t, wherry.Consume(wherry.GroupSequence(b, group, topic), s.handle, wherry.Concurrency(3))))
			}
		}
		publish(t, b, topic, stepsOf(10, keys...)...)
		time.Sleep(time.Minute)
		one.inOrder(10, keys...)
		two.inOrder(10, keys...)
		for _, r := range runs {
			r.mustEnd()
		}
	})
}

func TestFault44LogBroadcasts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newLogs(t, mem.LogConfig{})
		topic := wherry.NewTopic("prices", jsonSteps, wherry.Fanout())
		publish(t, b, topic, step{"first", 1})
		time.Sleep(time.Minute)
		then := time.Now()
		publish(t, b, topic, step{"second", 2})
		time.Sleep(time.Minute)
		var seen calls
		read := func(name string, opts ...wherry.BroadcastOption) *run {
			return start(t, wherry.Consume(wherry.Broadcast(b, topic, opts...), func(_ context.Context, m *wherry.Message[step]) wherry.Outcome {
				seen.add("%s %d", name, m.Value.N)
				return wherry.Ack()
			}))
		}
		runs := []*run{read("now"), read("head", wherry.FromHead()), read("time", wherry.FromTime(then))}
		synctest.Wait()
		publish(t, b, topic, step{"third", 3})
		time.Sleep(time.Second)
		got := seen.all()
		slices.Sort(got)
		assert.Equal(t, fmt.Sprint(got), "[head 1 head 2 head 3 now 3 time 2 time 3]")
		for _, r := range runs {
			r.mustEnd()
		}
	})
}
