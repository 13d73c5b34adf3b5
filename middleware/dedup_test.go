package middleware_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/middleware"
)

// marks is a store with a long memory.
func marks() *middleware.MemoryStore { return middleware.NewMemoryStore(0) }

// A message that failed runs again, as often as it fails, and once it was handled no more.
func TestFault19FailedMessageRunsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			r.note(fmt.Sprintf("attempt %d", m.Attempt()))
			switch m.Attempt() {
			case 1:
				return wherry.Retry(errDown)
			case 2:
				return crash(errDown)
			default:
				return wherry.Ack()
			}
		}
		c := r.consume(h, middleware.Dedup(marks(), middleware.DedupConfig{}), wherry.RetryWith(ladder))
		r.publish("a")
		r.run(2*time.Second, c)
		assert.Equal(t, r.log.take(), []string{"attempt 1 0s", "attempt 2 100ms", "attempt 3 400ms"})
		r.publish("a", "a")
		r.run(2*time.Second, c)
		assert.Equal(t, r.log.take(), nil)
		assert.Equal(t, len(r.dead()), 0)
	})
}

// Different messages are never taken for duplicates, by id or by body.
func TestFault20DifferentMessagesAreHandled(t *testing.T) {
	t.Parallel()
	type tick struct{ N int }
	for name, key := range map[string]func(wherry.AnyMessage) string{"id": nil, "body": middleware.ByBody} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const n = 10_000
			b := mem.New(mem.Config{})
			topic := wherry.NewTopic("ticks", codec.JSON[tick]{})
			p, err := wherry.NewPublisher(t.Context(), b, topic)
			assert.NoError(t, err)
			for i := range n {
				assert.NoError(t, p.Publish(t.Context(), &tick{N: i}))
			}
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			seen := make([]int, n)
			all := 0
			h := func(_ context.Context, m *wherry.Message[tick]) wherry.Outcome {
				seen[m.Value.N]++
				all++
				if all == n {
					// A known body under a new id: a duplicate by its body alone.
					assert.NoError(t, p.Publish(ctx, &tick{N: 0}))
					stop() // what is in the broker is handled before the end
				}
				return wherry.Ack()
			}
			dedup := middleware.Dedup(marks(), middleware.DedupConfig{Key: key})
			assert.NoError(t, wherry.Run(ctx, wherry.Consume(wherry.Queue(b, topic), h, dedup)))
			want := 2
			if key != nil {
				want = 1
			}
			assert.Equal(t, seen[0], want)
			for i, times := range seen[1:] {
				if times != 1 {
					t.Fatalf("%d was handled %d times", i+1, times)
				}
			}
		})
	}
}

// What has no key is handled or rejected, as the policy says.
func TestFault20NoKey(t *testing.T) {
	t.Parallel()
	for unkeyed, dead := range map[middleware.Unkeyed]int{middleware.HandleUnkeyed: 0, middleware.RejectUnkeyed: 2} {
		t.Run(fmt.Sprint(unkeyed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.publish("a", "a")
				r.run(time.Second, r.consume(r.noted, middleware.Dedup(marks(), middleware.DedupConfig{
					Key: func(wherry.AnyMessage) string { return "" }, Unkeyed: unkeyed,
				})))
				letters := r.dead()
				assert.Equal(t, len(letters), dead)
				assert.Equal(t, len(r.log.take()), 2-dead)
				for _, l := range letters {
					assert.Equal(t, l.LastError, middleware.ErrNoKey.Error())
				}
			})
		})
	}
}

// A duplicate waits for the outcome: after a success it is acknowledged, after a failure it is handled.
func TestDedupWaitsForTheOutcome(t *testing.T) {
	t.Parallel()
	for _, works := range []bool{true, false} {
		t.Run(fmt.Sprintf("works=%v", works), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				var later atomic.Bool
				h := func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
					r.note(m.Value)
					if later.Swap(true) {
						return wherry.Ack()
					}
					time.Sleep(7 * time.Second)
					if works {
						return wherry.Ack()
					}
					return wherry.Reject(errDown)
				}
				r.publish("a", "a")
				r.run(30*time.Second, r.consume(h, wherry.Concurrency(2),
					middleware.Dedup(marks(), middleware.DedupConfig{Again: 2 * time.Second})))
				if works {
					assert.Equal(t, r.log.take(), []string{"a 0s"})
					assert.Equal(t, len(r.dead()), 0)
				} else {
					assert.Equal(t, r.log.take(), []string{"a 0s", "a 8s"}) // looked at every 2 s
					assert.Equal(t, len(r.dead()), 1)
				}
			})
		})
	}
}

// One process dies with a message in its hands: another handles it when the lease is over.
func TestDedupLeaseOfTheDead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		s := marks()
		claim, err := s.Claim(t.Context(), "orders//a", "the dead", time.Minute)
		assert.NoError(t, err)
		assert.Equal(t, claim, middleware.ClaimGranted)
		r.publish("a")
		r.run(2*time.Minute, r.consume(r.noted, middleware.Dedup(s, middleware.DedupConfig{})))
		assert.Equal(t, r.log.take(), []string{"a 1m0s"})
	})
}

// What was handled is remembered for as long as it was asked for, and apart for each topic and group.
func TestDedupKeeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		dedup := middleware.Dedup(marks(), middleware.DedupConfig{Keep: time.Hour})
		topic := wherry.NewTopic("news", codec.Text{}, wherry.Fanout("left", "right"))
		p, err := wherry.NewPublisher(t.Context(), r.broker, topic)
		assert.NoError(t, err)
		publish := func() {
			v := "a"
			assert.NoError(t, p.Publish(t.Context(), &v, wherry.WithID("a")))
			r.publish("a")
			r.run(time.Second, r.consume(r.noted, dedup),
				wherry.Consume(wherry.Group(r.broker, "left", topic), r.noted, dedup),
				wherry.Consume(wherry.Group(r.broker, "right", topic), r.noted, dedup))
		}
		publish()
		assert.Equal(t, len(r.log.take()), 3)
		publish()
		assert.Equal(t, len(r.log.take()), 0)
		time.Sleep(time.Hour)
		publish()
		assert.Equal(t, len(r.log.take()), 3)
	})
}

func TestDedupBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		// What another middleware takes out inside counts as its outcome says.
		inside := wherry.UseBatch(func(next wherry.BatchNext) wherry.BatchNext {
			return func(ctx context.Context, b wherry.AnyBatch) wherry.Outcome {
				for i := 0; i < b.Len(); {
					switch string(b.At(i).Body()) {
					case "gone":
						b.Skip(i, wherry.Ack())
					case "bad":
						b.Skip(i, wherry.Reject(errDown))
					default:
						i++
					}
				}
				if b.Len() == 0 {
					return wherry.Ack()
				}
				return next(ctx, b)
			}
		})
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			var all string
			for i, m := range b.All() {
				all += m.Value + " "
				if m.Value == "fails" && m.Attempt() == 1 {
					b.Set(i, wherry.Retry(errDown))
				}
			}
			r.note(all)
			return wherry.Ack()
		}
		dedup := middleware.Dedup(marks(), middleware.DedupConfig{})
		c := r.consumeBatch(h, dedup, inside, wherry.RetryWith(ladder))
		r.publish("a", "bad", "a", "gone", "fails", "b")
		r.run(10*time.Second, c)
		assert.Equal(t, r.log.take(), []string{"a fails b  250ms", "fails  600ms"})
		assert.Equal(t, len(r.dead()), 1)

		// The rejected one may come again, all others are known.
		r.publish("a", "bad", "gone", "fails", "b")
		r.run(10*time.Second, c)
		assert.Equal(t, r.log.take(), nil)
		assert.Equal(t, len(r.dead()), 1)
		r.publish("a", "gone")
		r.run(10*time.Second, c)
		assert.Equal(t, r.log.take(), nil)
	})
}

// A batch that panics gives all its claims back.
func TestDedupBatchPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		calls := 0
		h := func(_ context.Context, b *wherry.MessageBatch[string]) wherry.Outcome {
			calls++
			if calls == 1 {
				return crash(errDown)
			}
			r.log.add(fmt.Sprint(b.Len()))
			return wherry.Ack()
		}
		r.publish("a", "b")
		r.run(time.Second, r.consumeBatch(h, middleware.Dedup(marks(), middleware.DedupConfig{}), wherry.RetryWith(ladder)))
		assert.Equal(t, r.log.take(), []string{"2"})
	})
}

func TestDedupMistakes(t *testing.T) {
	t.Parallel()
	assert.NoError(t, startError(t, middleware.Dedup(marks(), middleware.DedupConfig{})))
	wantStartError(t, middleware.Dedup(nil, middleware.DedupConfig{}), "dedup: the store is nil")
	const unmade = "dedup: the store's number of keys is negative, or it was not made by NewMemoryStore"
	wantStartError(t, middleware.Dedup(middleware.NewMemoryStore(-1), middleware.DedupConfig{}), unmade)
	wantStartError(t, middleware.Dedup(&middleware.MemoryStore{}, middleware.DedupConfig{}), unmade)
	wantStartError(t, middleware.Dedup((*middleware.MemoryStore)(nil), middleware.DedupConfig{}), unmade)
	wantStartError(t, middleware.Dedup(marks(), middleware.DedupConfig{Unkeyed: 2, Lease: -1, Keep: -1, Again: -1}),
		"dedup: Unkeyed is 2, want HandleUnkeyed or RejectUnkeyed\nLease is -1ns, want more than 0\n"+
			"Keep is -1ns, want more than 0\nAgain is -1ns, want more than 0")
}

var errStore = errors.New("store away")
