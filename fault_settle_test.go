package wherry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// A handler that outlives the drain reads its message undisturbed, and its late outcome settles nobody else's.
func TestFault32AbandonedHandlerKeepsItsMemory(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		views := wherry.NewTopic("views", codec.BytesView{})
		publish(t, b, views, []byte("the first body"))
		release := make(chan struct{})
		read := make(chan string, 1)
		var ev events
		r := start(t, wherry.Consume(wherry.Queue(b, views), func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
			<-release
			read <- string(m.Value) + " " + m.ID()[:1]
			return wherry.Ack()
		}, wherry.DrainTime(0), wherry.GraceTime(time.Second), wherry.OnEvent(ev.record)))
		synctest.Wait()
		assert.True(t, r.end() != nil, "a handler was abandoned")

		hold := make(chan struct{})
		var seen calls
		next := start(t, wherry.Consume(wherry.Queue(b, views), func(_ context.Context, m *wherry.Message[[]byte]) wherry.Outcome {
			seen.add("%s delivered %d attempt %d", m.Value, m.Delivered(), m.Attempt())
			<-hold
			return wherry.Ack()
		}))
		publish(t, b, views, []byte("another body"))
		synctest.Wait()
		close(release)
		assert.True(t, strings.HasPrefix(<-read, "the first body "), "the body is untouched")
		synctest.Wait()
		assert.Equal(t, depthOf(t, b, "views"), 2) // the late outcome settled neither
		late := eventsOf[*wherry.SettleFailed](&ev)
		assert.Equal(t, len(late), 1)
		assert.ErrorIs(t, late[0].Err, wherry.ErrRevoked)
		close(hold)
		synctest.Wait()
		next.mustEnd()
		assert.Equal(t, seen.all(), []string{"the first body delivered 2 attempt 1", "another body delivered 1 attempt 1"})
	})
}

// Only failures are attempts: defers, and releases by a stop, are not.
func TestFault33DefersAndReleasesAreNoAttempts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Weak: mem.Weak{CountReleases: true}})
		defer b.Close(context.Background())
		publish(t, b, orders, order{ID: 1})
		for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders)) { // released once
			assert.NoError(t, err)
			assert.Equal(t, m.Attempt(), 1)
			break
		}
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("attempt %d", m.Attempt())
			switch len(seen.all()) {
			case 1, 2:
				return wherry.Defer(time.Second)
			case 3:
				return wherry.Retry(errors.New("the first real failure"))
			default:
				return wherry.Ack()
			}
		}, wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3})))
		time.Sleep(time.Minute)
		r.mustEnd()
		assert.Equal(t, seen.all(), []string{"attempt 1", "attempt 1", "attempt 1", "attempt 2"})
		assert.Equal(t, len(collectDead(t, b, wherry.DeadLetters(orders))), 0)
	})
}

// A message that is deferred for ever ends in the dead letters after a day.
func TestDeferHasABound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		publish(t, b, orders, order{ID: 1})
		defers := 0
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(context.Context, *wherry.Message[order]) wherry.Outcome {
			defers++
			return wherry.Defer(5 * time.Hour)
		}, wherry.StallAfter(24*time.Hour), wherry.NoHandlerTimeout()))
		time.Sleep(48 * time.Hour)
		r.mustEnd()
		assert.Equal(t, defers, 5) // 20 hours in all; the fifth would make it 25
		dead := collectDead(t, b, wherry.DeadLetters(orders))
		assert.Equal(t, len(dead), 1)
		assert.Equal(t, dead[0].Value.Reason, wherry.ReasonDeferred)
		assert.Equal(t, dead[0].Value.Attempts, 0)
	})
}

// Dead letters that nobody reads do not stop the service: good messages go on, the failed are kept, health says why.
func TestFault35FullDeadLettersStopNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{MaxDeadLetters: 2})
		defer b.Close(context.Background())
		var seen calls
		var ev events
		c := wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID%2 == 1 {
				return wherry.Reject(errors.New("odd"))
			}
			seen.add("%d", m.Value.ID)
			return wherry.Ack()
		}, wherry.OnEvent(ev.record), wherry.DrainTime(time.Second))
		r := start(t, c)
		for id := 1; id <= 20; id++ {
			publish(t, b, orders, order{ID: id})
		}
		time.Sleep(time.Second)
		assert.Equal(t, len(seen.all()), 10)
		h := c.Health()
		assert.True(t, strings.Contains(h.Cause, "cannot publish to orders.dlq") && strings.Contains(h.Cause, "8 kept"), h.Cause)
		assert.Equal(t, h.InFlight, 8)
		assert.True(t, len(eventsOf[*wherry.MoveBlocked](&ev)) > 0, "it is reported")

		dead := collectDead(t, b, wherry.DeadLetters(orders)) // somebody reads them at last
		assert.Equal(t, len(dead), 2)
		time.Sleep(3 * time.Minute)
		dead = append(dead, collectDead(t, b, wherry.DeadLetters(orders))...)
		time.Sleep(3 * time.Minute)
		dead = append(dead, collectDead(t, b, wherry.DeadLetters(orders))...)
		for range 5 {
			time.Sleep(time.Minute)
			dead = append(dead, collectDead(t, b, wherry.DeadLetters(orders))...)
		}
		assert.Equal(t, len(dead), 10)
		assert.Equal(t, c.Health().Cause, "")
		r.mustEnd()
	})
}

// Beyond half of the credit, originals of refused copies go back for a while instead of using the rest of it up.
func TestFault35RefusedCopiesLeaveCredit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		b.Faults().FailSend("orders.dlq", 1_000_000, nil)
		good := 0
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.Text == "good" {
				good++
				return wherry.Ack()
			}
			return wherry.Reject(errors.New("bad"))
		}, wherry.Prefetch(10), wherry.DrainTime(0)))
		for id := range 100 {
			publish(t, b, orders, order{ID: id})
		}
		publish(t, b, orders, order{ID: 101, Text: "good"})
		time.Sleep(time.Second)
		synctest.Wait()
		assert.Equal(t, good, 1)
		b.Faults().Clear()
		time.Sleep(5 * time.Minute)
		assert.True(t, r.end() == nil, "nothing is left")
		assert.Equal(t, len(collectDead(t, b, wherry.DeadLetters(orders))), 100)
	})
}

// A settlement after the tenure ended reaches nobody.
func TestFault37LateOutcomeSettlesNobodyElses(t *testing.T) {
	t.Parallel()
	for name, outcome := range map[string]wherry.Outcome{
		"ack": wherry.Ack(), "retry": wherry.Retry(errors.New("late")), "reject": wherry.Reject(errors.New("late")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newMem(t)
				publish(t, b, orders, order{ID: 1})
				first, second := make(chan struct{}), make(chan struct{})
				var seen calls
				var ev events
				causes := make(chan error, 2)
				r := start(t, wherry.Consume(wherry.Queue(b, orders), func(ctx context.Context, m *wherry.Message[order]) wherry.Outcome {
					seen.add("delivered %d attempt %d", m.Delivered(), m.Attempt())
					if m.Delivered() == 1 {
						<-ctx.Done()
						causes <- context.Cause(ctx)
						<-first
						return outcome
					}
					<-second
					return wherry.Ack()
				}, wherry.Concurrency(2), wherry.OnEvent(ev.record)))
				synctest.Wait()
				b.Faults().Revoke("orders", 0)
				assert.ErrorIs(t, <-causes, wherry.ErrRevoked)
				synctest.Wait() // it is with the second lane now
				close(first)
				time.Sleep(time.Second)
				assert.Equal(t, depthOf(t, b, "orders"), 1) // neither settled nor copied
				close(second)
				time.Sleep(time.Second)
				r.mustEnd()
				assert.Equal(t, seen.all(), []string{"delivered 1 attempt 1", "delivered 2 attempt 1"})
				assert.Equal(t, len(collectDead(t, b, wherry.DeadLetters(orders))), 0)
				failed := eventsOf[*wherry.SettleFailed](&ev)
				assert.Equal(t, len(failed), 1)
				assert.ErrorIs(t, failed[0].Err, wherry.ErrRevoked)
			})
		})
	}
}

// Releases alone never lose a message.
func TestFault40ReleasesLoseNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Weak: mem.Weak{CountReleases: true}})
		defer b.Close(context.Background())
		publish(t, b, orders, order{ID: 1})
		for range 25 {
			for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders), wherry.MaxDelivered(1000)) {
				assert.NoError(t, err)
				assert.Equal(t, m.Attempt(), 1)
				break
			}
		}
		assert.Equal(t, depthOf(t, b, "orders"), 1)
		assert.Equal(t, handledIDs2(t, b), 1)
	})
}

// handledIDs2 is how many orders are handled, or in the dead letters because the broker counted them often.
func handledIDs2(t *testing.T, b *mem.Broker) int {
	t.Helper()
	return len(handledIDs(t, b, orders)) + len(collectDead(t, b, wherry.DeadLetters(orders)))
}

// Delayed retries use no credit.
func TestFault41DelayedRetriesLeaveTheCredit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{Weak: mem.Weak{CreditPerQueue: 10, DelaysEatCredit: true}})
		defer b.Close(context.Background())
		began := time.Now()
		var seen calls
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			if m.Value.ID < 10 && m.Attempt() == 1 {
				return wherry.RetryAfter(3*time.Second, errors.New("later"))
			}
			seen.add("%v", time.Since(began) < time.Second)
			return wherry.Ack()
		}, wherry.Prefetch(10)))
		for id := range 30 {
			publish(t, b, orders, order{ID: id})
		}
		time.Sleep(time.Second)
		assert.Equal(t, len(seen.all()), 20)
		for _, inTime := range seen.all() {
			assert.Equal(t, inTime, "true")
		}
		time.Sleep(10 * time.Second)
		r.mustEnd()
		assert.Equal(t, len(seen.all()), 30)
	})
}

// One refused settlement does not take its neighbours with it, and is tried again.
func TestFault43RefusedSettlementIsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		for id := range 10 {
			publish(t, b, orders, order{ID: id})
		}
		b.Faults().FailSettle("orders", 3)
		var seen calls
		var ev events
		r := start(t, wherry.Consume(wherry.Queue(b, orders), func(_ context.Context, m *wherry.Message[order]) wherry.Outcome {
			seen.add("%d", m.Value.ID)
			return wherry.Ack()
		}, wherry.OnEvent(ev.record)))
		time.Sleep(10 * time.Second)
		assert.Equal(t, depthOf(t, b, "orders"), 0)
		r.mustEnd()
		assert.Equal(t, len(seen.all()), 10)
		assert.True(t, len(eventsOf[*wherry.SettleFailed](&ev)) > 0, "it is reported")
	})
}

// FAULTS 29 from the other side: what the dead letters get is the original, byte for byte.
func TestDeadLetterIsTheOriginal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newMem(t)
		views := wherry.NewTopic("views", codec.Bytes{})
		p, err := wherry.NewPublisher(t.Context(), b, views)
		assert.NoError(t, err)
		body := bytes.Repeat([]byte{0, 1, 0xff, '\n'}, 1000)
		published := time.Now()
		assert.NoError(t, p.Publish(t.Context(), &body, wherry.WithID("the id"), wherry.WithKey([]byte("key\x00")),
			wherry.WithHeader("a", "1"), wherry.WithHeader("a", "2"), wherry.WithHeader("ü", "line\nbreak")))
		assert.NoError(t, p.Close(t.Context()))
		time.Sleep(time.Second)
		r := start(t, wherry.Consume(wherry.Queue(b, views), func(context.Context, *wherry.Message[[]byte]) wherry.Outcome {
			return wherry.Reject(errors.New(strings.Repeat("ä", 1<<20)))
		}))
		synctest.Wait()
		r.mustEnd()
		dead := collectDead(t, b, wherry.DeadLetters(views))
		assert.Equal(t, len(dead), 1)
		m := dead[0]
		assert.Equal(t, fmt.Sprintf("%s %q %s %v", m.ID(), m.Key(), m.ContentType(), m.Published().Equal(published)),
			`the id "key\x00" application/octet-stream true`)
		assert.True(t, bytes.Equal(m.Body(), body) && bytes.Equal(m.Value.Value, body), "the body, byte for byte")
		var pairs []string
		for k, v := range m.Headers().All() {
			pairs = append(pairs, k+"="+v)
		}
		assert.Equal(t, pairs, []string{"a=1", "a=2", "ü=line\nbreak"})
		assert.True(t, len(m.Value.LastError) <= 1<<10+len("…"), "the error's text is cut")
		assert.Equal(t, m.Value.LastAt.Sub(published), time.Second)
	})
}
