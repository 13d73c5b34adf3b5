package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// rejectAll is a handler that gives up all, and counts its calls.
func rejectAll[T any](n *atomic.Int64) wherry.Handler[T] {
	return func(context.Context, *wherry.Message[T]) wherry.Outcome {
		n.Add(1)
		return wherry.Reject(errors.New("still broken"))
	}
}

// buried has the messages of a topic given up.
func buried[T any](t *testing.T, b *mem.Broker, topic wherry.TopicOf[T], vs ...T) {
	t.Helper()
	publish(t, b, topic, vs...)
	var n atomic.Int64
	r := start(t, wherry.Consume(wherry.Queue(b, topic), rejectAll[T](&n)))
	synctest.Wait()
	r.mustEnd()
	assert.Equal(t, int(n.Load()), len(vs))
}

// someOrders are n of them.
func someOrders(n int) []order {
	vs := make([]order, n)
	for i := range vs {
		vs[i].ID = i
	}
	return vs
}

// Beside a consumer that still rejects, each dead letter goes back once, and the redrive ends. The next one begins anew.
func TestRedriveBesideAConsumerThatRejects(t *testing.T) {
	t.Parallel()
	for _, n := range []int{5, 3000} {
		synctest.Test(t, func(t *testing.T) {
			b := newMem(t)
			buried(t, b, orders, someOrders(n)...)
			var calls atomic.Int64
			r := start(t, wherry.Consume(wherry.Queue(b, orders), rejectAll[order](&calls)))
			for turn := range 2 {
				ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
				got, err := wherry.Redrive(ctx, b, orders)
				stop()
				assert.NoError(t, err)
				synctest.Wait()
				assert.Equal(t, got.Moved, n)
				assert.True(t, got.Passed > 0 && got.Passed <= n, fmt.Sprint("passed over: ", got.Passed))
				assert.Equal(t, int(calls.Load()), n*(turn+1))
				assert.Equal(t, depthOf(t, b, "orders.dlq"), n)
			}
			r.mustEnd()
		})
	}
}

// Two redrives at a time, beside a consumer that still rejects, end as well: neither moves what it has moved before.
func TestTwoRedrivesBesideAConsumerThatRejects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const n = 100
		b := newMem(t)
		buried(t, b, orders, someOrders(n)...)
		var calls atomic.Int64
		r := start(t, wherry.Consume(wherry.Queue(b, orders), rejectAll[order](&calls)))
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		moved := make(chan int)
		for range 2 {
			go func() {
				got, err := wherry.Redrive(ctx, b, orders)
				assert.NoError(t, err)
				moved <- got.Moved
			}()
		}
		total := <-moved + <-moved
		assert.True(t, total >= n && total <= 2*n, fmt.Sprint("moved: ", total))
		synctest.Wait()
		assert.Equal(t, int(calls.Load()), total)
		assert.Equal(t, depthOf(t, b, "orders.dlq"), n)
		r.mustEnd()
	})
}

// A retry on the way does not hide that it was this redrive that brought the message back.
func TestRedriveKnowsWhatWasRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		buried(t, b, orders, someOrders(3)...)
		deferred := map[int]bool{}
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if id := m.Value.ID; !deferred[id] {
				deferred[id] = true
				return wherry.Defer(100 * time.Millisecond)
			}
			return wherry.Retry(nil)
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 2, First: 100 * time.Millisecond, Jitter: wherry.NoJitter})))
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		got, err := wherry.Redrive(ctx, b, orders)
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: 3, Passed: 3})
		r.mustEnd()
	})
}

// What is given up without end, for the first time, does not keep a redrive going for ever.
func TestRedriveEndsBesideNewFailures(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		buried(t, b, orders, someOrders(5)...)
		var calls atomic.Int64
		r := start(t, wherry.Consume(wherry.Queue(b, orders), rejectAll[order](&calls)))
		ctx, stop := context.WithTimeout(t.Context(), time.Hour)
		defer stop()
		go func() {
			for sleepFor(ctx, 100*time.Millisecond) {
				publish(t, b, orders, order{ID: 7})
			}
		}()
		begin := time.Now()
		got, err := wherry.Redrive(ctx, b, orders)
		assert.NoError(t, err)
		assert.True(t, got.Moved > 100, fmt.Sprint("moved: ", got.Moved))
		assert.True(t, time.Since(begin) < 2*time.Minute, fmt.Sprint("it took ", time.Since(begin)))
		stop()
		synctest.Wait()
		r.mustEnd()
	})
}

// sleepFor is false when ctx ended before.
func sleepFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// A key whose first is passed over keeps what was set aside behind it, whatever was asked for, so that it never comes back out
// of order.
func TestRedriveKeepsAParkedKeyInOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first wherry.RedriveOption
		got   wherry.Redriven
		calls string
	}{
		"parked":   {wherry.RedriveReason(wherry.ReasonParked), wherry.Redriven{Passed: 4}, "0 1 1"},
		"rejected": {wherry.RedriveReason(wherry.ReasonExhausted), wherry.Redriven{Moved: 1, Passed: 3}, "0 1 1 1"},
		"by choice": {wherry.RedriveIf(func(_ wherry.DeadLetterInfo, m wherry.AnyMessage) bool {
			return !strings.Contains(string(m.Body()), `"n":3`)
		}), wherry.Redriven{Moved: 2, Passed: 2}, "0 1 1 1 2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var broken atomic.Bool
				broken.Store(true)
				s := failing(t, broken.Load)
				b := newMem(t)
				publish(t, b, steps, stepsOf(5, "bad")...)
				run := start(t, wherry.Consume(wherry.Sequence(b, steps, wherry.OnFailure(wherry.Park)), s.handle, quickly))
				time.Sleep(time.Minute)
				broken.Store(false)
				got, err := wherry.Redrive(t.Context(), b, steps, c.first)
				assert.NoError(t, err)
				assert.Equal(t, got, c.got)
				synctest.Wait()
				assert.Equal(t, s.of(s.calls, "bad"), c.calls)
				got, err = wherry.Redrive(t.Context(), b, steps)
				assert.NoError(t, err)
				assert.Equal(t, got, wherry.Redriven{Moved: c.got.Passed})
				synctest.Wait()
				assert.Equal(t, s.of(s.done, "bad"), "0 1 2 3 4")
				run.mustEnd()
			})
		})
	}
}

// Where nothing was set aside a key has no order to keep, and a reason is a reason.
func TestRedriveByReasonOfAKeyThatIsNotParked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, steps, stepsOf(4, "a")...)
		r := start(t, wherry.Consume(wherry.Queue(b, steps), func(_ context.Context, m *wherry.Message[step]) wherry.Outcome {
			if m.Value.N%2 == 0 {
				return wherry.Reject(nil)
			}
			return wherry.Retry(nil)
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 1})))
		synctest.Wait()
		r.mustEnd()
		got, err := wherry.Redrive(t.Context(), b, steps, wherry.RedriveReason(wherry.ReasonExhausted))
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: 2, Passed: 2})
	})
}

// No second has more than the rate, and the whole takes little longer than it must.
func TestRedriveRate(t *testing.T) {
	t.Parallel()
	for _, rate := range []int{1, 7, 100, 1000} {
		synctest.Test(t, func(t *testing.T) {
			b := newMem(t)
			n := 3 * rate
			buried(t, b, orders, someOrders(n)...)
			var at []time.Time
			r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
				at = append(at, time.Now())
				return wherry.Ack()
			}))
			got, err := wherry.Redrive(t.Context(), b, orders, wherry.RedriveRate(rate))
			assert.NoError(t, err)
			assert.Equal(t, got.Moved, n)
			synctest.Wait()
			r.mustEnd()
			assert.Equal(t, len(at), n)
			for i := rate; i < n; i++ {
				if d := at[i].Sub(at[i-rate]); d < time.Second {
					t.Fatalf("at %d a second: %d in %v", rate, rate+1, d)
				}
			}
			took := at[n-1].Sub(at[0])
			assert.True(t, took < 3200*time.Millisecond, fmt.Sprint("three seconds took ", took))
		})
	}
}

// What a redrive is told wrongly it says before anything is moved.
func TestRedriveRefuses(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	for want, o := range map[string]wherry.RedriveOption{
		`there is no reason "exhaust": there are ["rejected" "exhausted"`: wherry.RedriveReason("exhaust"),
		"no reason is given":           wherry.RedriveReason(),
		"limit is 0, want at least 1":  wherry.RedriveLimit(0),
		"rate is 0 a second, want at":  wherry.RedriveRate(0),
		"function of RedriveIf is nil": wherry.RedriveIf(nil),
		"a redrive option is nil":      nil,
		`group: "a b": ' ' is not`:     wherry.RedriveGroup("a b"),
		"is a queue and has no groups": wherry.RedriveGroup("billing"),
	} {
		_, err := wherry.Redrive(t.Context(), b, orders, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Redrive: %v, want %s", err, want)
		}
		for _, err = range wherry.PeekDeadLetters(t.Context(), b, orders, o) {
			if strings.HasPrefix(want, "rate") { // which is wrong there in any case
				want = "rate"
			}
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("PeekDeadLetters: %v, want %s", err, want)
			}
		}
	}
	_, err := wherry.Redrive(t.Context(), b, orders, wherry.RedriveGroup(""))
	assert.NoError(t, err)
}

// A redrive that its context ends says so, and how far it came; it is no publish that failed.
func TestRedriveSaysThatItsContextEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{MaxMessages: 10})
		defer b.Close(context.Background())
		buried(t, b, orders, someOrders(8)...)
		publish(t, b, orders, someOrders(5)...)
		for _, opts := range [][]wherry.RedriveOption{
			{wherry.RedriveRate(1)},            // it ends between two
			{wherry.RedriveReason("rejected")}, // the topic takes no more, and nobody consumes it
		} {
			ctx, stop := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			got, err := wherry.Redrive(ctx, b, orders, opts...)
			stop()
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, err.Error(), fmt.Sprintf(
				"wherry: redrive orders: after %d that were moved: its context ended: context deadline exceeded", got.Moved))
		}
		assert.Equal(t, depthOf(t, b, "orders"), 10)
		assert.Equal(t, depthOf(t, b, "orders.dlq"), 3)
	})
}

// A function of the user that panics leaves nothing behind in the redrive's hands.
func TestRedriveIfPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		buried(t, b, orders, someOrders(3)...)
		func() {
			defer func() { assert.Equal(t, recover(), any("mine")) }()
			_, _ = wherry.Redrive(t.Context(), b, orders, wherry.RedriveIf(func(wherry.DeadLetterInfo, wherry.AnyMessage) bool {
				panic("mine")
			}))
		}()
		got, err := wherry.Redrive(t.Context(), b, orders)
		assert.NoError(t, err)
		assert.Equal(t, got.Moved, 3)
	})
}

// Of a fan-out's group too each goes back once.
func TestRedriveOfAGroupBesideAConsumerThatRejects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		news := wherry.NewTopic("news", codec.Text{}, wherry.Fanout("mail", "web"))
		var calls atomic.Int64
		r := start(t, wherry.Consume(wherry.Group(b, "mail", news), rejectAll[string](&calls)))
		synctest.Wait()
		publish(t, b, news, "one", "two")
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		got, err := wherry.Redrive(ctx, b, news, wherry.RedriveGroup("mail"))
		assert.NoError(t, err)
		assert.Equal(t, got, wherry.Redriven{Moved: 2, Passed: 2})
		assert.Equal(t, int(calls.Load()), 4)
		r.mustEnd()
	})
}
