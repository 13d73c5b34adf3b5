package wherrytest_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

// A movement changes an account.
type movement struct {
	Account string
	N       int
	Bad     string // as an order's
}

func accountOf(dst []byte, m *movement) []byte { return append(dst, m.Account...) }

var (
	movements = wherry.NewKeyedTopic("movements", codec.JSON[movement]{}, accountOf)
	postings  = wherry.NewKeyedTopic("postings", codec.JSON[movement]{}, accountOf, wherry.Fanout("books", "audit"))
)

// post fails as its movement says.
func post(_ context.Context, m *wherry.Message[movement]) wherry.Outcome {
	switch {
	case m.Value.Bad == "twice" && m.Attempt() < 3, m.Value.Bad == "always":
		return wherry.Retry(errBad)
	case m.Value.Bad == "reject":
		return wherry.Reject(errBad)
	default:
		return wherry.Ack()
	}
}

// uncounted is a broker with every manner, which cannot be asked how much it has.
type uncounted interface {
	driver.Sequencer
	driver.GroupSequencer
	driver.Broadcaster
	driver.Transactor
	driver.Queuer
}

// anyhow runs a test in a bubble, on a broker that knows its depths, on a log, and on one that knows nothing, where the books
// alone decide.
func anyhow(t *testing.T, body func(t *testing.T, tt *wherrytest.Test)) {
	t.Helper()
	brokers := map[string]func() (inner, shown driver.Broker){
		"queues": func() (driver.Broker, driver.Broker) {
			b := mem.New(mem.Config{Poison: true})
			return b, b
		},
		"log": func() (driver.Broker, driver.Broker) {
			b := mem.NewLog(mem.LogConfig{})
			return b, b
		},
		"books alone": func() (driver.Broker, driver.Broker) {
			b := mem.New(mem.Config{Poison: true})
			return b, struct{ uncounted }{b}
		},
	}
	for name, dial := range brokers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				inner, shown := dial()
				defer inner.Close(t.Context())
				tt := wherrytest.New(t, wherrytest.OnBroker(shown))
				body(t, tt)
				if err := tt.Stop(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
					t.Error(err)
				}
			})
		})
	}
}

var slowly = wherry.RetryWith(wherry.RetryPolicy{MaxAttempts: 3, Delays: []time.Duration{2 * time.Hour}})

// What fails in a sequence is tried again where it is, for longer than the test's patience, and no copy is sent.
func TestRetriesOfASequenceAreInTheBooks(t *testing.T) {
	t.Parallel()
	anyhow(t, func(t *testing.T, tt *wherrytest.Test) {
		in := wherrytest.Probe(tt, movements)
		var early atomic.Bool
		early.Store(true)
		rec := wherrytest.Record(func(ctx context.Context, m *wherry.Message[movement]) wherry.Outcome {
			if m.Value.Account == "cyd" && early.Swap(false) {
				return wherry.Defer(5 * time.Hour)
			}
			return post(ctx, m)
		})
		tt.Run(wherry.Consume(wherry.Sequence(tt.Broker(), movements), rec.Handle, slowly, wherry.Concurrency(4)))

		began := time.Now()
		in.Publish(movement{"ada", 1, "twice"}, movement{"bob", 1, "always"}, movement{"cyd", 1, ""})
		for n := 2; n < 5; n++ {
			in.Publish(movement{"ada", n, ""}, movement{"bob", n, ""}, movement{"cyd", n, ""})
		}
		in.Publish(movement{"dan", 1, "reject"})
		tt.Quiesce()

		in.Expect(wherrytest.Counts{Published: 13, Handled: 11, Retried: 4, Deferred: 1, Dead: 2})
		in.ExpectInOrder()
		assert.True(t, time.Since(began) >= 5*time.Hour, "the delays were waited for")
		assert.Equal(t, len(in.DeadLetters()), 2)
	})
}

func TestTheStoryOfASequence(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		text := failuresOf(t, func(tb testing.TB) {
			tt := wherrytest.New(tb, wherrytest.LeaveUndone())
			in := wherrytest.Probe(tt, movements)
			tt.Run(wherry.Consume(wherry.Sequence(tt.Broker(), movements), post, slowly))
			in.PublishWith(movement{"ada", 1, "twice"}, wherry.WithID("ada-1"))
			in.PublishWith(movement{"ada", 2, ""}, wherry.WithID("ada-2"))
			tt.Until(func() bool { return in.Counts().Retried == 1 })
			in.ExpectHandled(2)
			tt.Quiesce()
			in.Expect(wherrytest.Counts{})
		})
		wants(t, text, "ada-1 in movements: attempt 2 is due in ", "ada-2 in movements: received ",
			"ada-1  published; attempt 1 failed: card declined; attempt 2 failed: card declined; handled at attempt 3")
	})
}

func TestALoopOverASequenceIsInTheBooks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		in := wherrytest.Probe(tt, movements)
		in.PublishWith(movement{"ada", 1, "twice"}, wherry.WithID("ada-1"))
		for m, err := range wherry.Pull(t.Context(), wherry.Sequence(tt.Broker(), movements)) {
			assert.NoError(t, err)
			o := post(t.Context(), m.Message)
			m.Settle(o)
			if o.Kind() == wherry.KindAck {
				break
			}
		}
		in.Expect(wherrytest.Counts{Published: 1, Handled: 1, Retried: 2})
		wants(t, wherrytest.StoryOf(tt, in),
			"ada-1  published; attempt 1 failed: card declined; attempt 2 failed: card declined; handled at attempt 3")
	})
}

// Under Park a key stands aside in the dead letters until it is redriven, in order.
func TestAParkedKeyComesBackInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		in := wherrytest.Probe(tt, postings)
		var thawed atomic.Bool
		tt.Run(wherry.Consume(wherry.GroupSequence(tt.Broker(), "books", postings, wherry.OnFailure(wherry.Park)),
			func(_ context.Context, m *wherry.Message[movement]) wherry.Outcome {
				if m.Value.Account == "bob" && !thawed.Load() {
					return wherry.Reject(errBad)
				}
				return wherry.Ack()
			}))
		for n := range 3 {
			in.Publish(movement{"ada", n, ""}, movement{"bob", n, ""})
		}
		tt.Quiesce()
		books := in.Group("books")
		books.Expect(wherrytest.Counts{Published: 6, Handled: 3, Dead: 3})
		var reasons []wherry.Reason
		for _, m := range books.DeadLetters() {
			reasons = append(reasons, m.Value.Reason)
		}
		assert.Equal(t, reasons, []wherry.Reason{wherry.ReasonRejected, wherry.ReasonParked, wherry.ReasonParked})

		thawed.Store(true)
		_, err := wherry.Redrive(t.Context(), tt.Broker(), postings, wherry.RedriveGroup("books"))
		assert.NoError(t, err)
		tt.Quiesce()
		books.Expect(wherrytest.Counts{Published: 6, Handled: 6, Dead: 3})
		books.ExpectInOrder()
	})
}

func TestDisorderIsTold(t *testing.T) {
	t.Parallel()
	text := failuresOf(t, func(tb testing.TB) {
		tt := wherrytest.New(tb)
		in := wherrytest.Probe(tt, movements)
		in.ExpectInOrder()
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), movements), func(_ context.Context, m *wherry.Message[movement]) wherry.Outcome {
			if m.Value.N == 1 && m.Attempt() == 1 {
				return wherry.RetryAfter(time.Millisecond, errBad)
			}
			return wherry.Ack()
		}))
		in.PublishWith(movement{"ada", 1, ""}, wherry.WithID("ada-1"))
		in.PublishWith(movement{"ada", 2, ""}, wherry.WithID("ada-2"))
		in.PublishWith(movement{"bob", 2, ""}, wherry.WithID("bob-1"))
		tt.Quiesce()
		in.ExpectInOrder()
	})
	wants(t, text, "no message with a key was handled",
		`key "ada" in movements: ada-1 was handled after ada-2, and published before it`,
		"ada-1  published; attempt 1 failed: card declined; handled at attempt 2")
	assert.Equal(t, strings.Count(text, "was handled after"), 1)
}
