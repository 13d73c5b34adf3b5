package wherry

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// roundTrips is a broker's send that takes a while.
type roundTrips struct {
	takes time.Duration

	mu    sync.Mutex
	calls [][]string
}

func (r *roundTrips) send(ctx context.Context, recs []driver.Record) error {
	ids := make([]string, len(recs))
	var errs []error
	for i := range recs {
		ids[i] = recs[i].ID.Text
		var err error
		if ids[i] == "bad" {
			err = ErrNotSent
		}
		errs = append(errs, err)
	}
	r.mu.Lock()
	r.calls = append(r.calls, ids)
	r.mu.Unlock()
	if err := sleep(ctx, r.takes); err != nil {
		return errors.Join(ErrUnconfirmed, err)
	}
	for _, err := range errs {
		if err != nil {
			return &driver.BatchError{Errs: errs}
		}
	}
	return nil
}

func (r *roundTrips) seen() [][]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls
}

func one(id, key string) *encoding {
	e := (&publisherCore{}).newEncoding()
	e.rec[0] = driver.Record{ID: driver.ID{Text: id}, Key: []byte(key), Body: []byte(id)}
	return e
}

func TestPublishesShareRoundTrips(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trips := &roundTrips{takes: time.Second}
		j := newJoiner(trips.send, driver.SendLimits{Batch: 3}, time.Minute)
		began := time.Now()
		results := make([]error, 6)
		var wg sync.WaitGroup
		for i, id := range []string{"a", "b", "bad", "c", "d", "e"} {
			wg.Go(func() { results[i] = j.send(t.Context(), one(id, "")) })
			synctest.Wait() // each is in its place before the next
		}
		wg.Wait()
		// The first goes at once, alone; what came meanwhile goes together, within the limit.
		assert.Equal(t, trips.seen(), [][]string{{"a"}, {"b", "bad", "c"}, {"d", "e"}})
		assert.Equal(t, time.Since(began), 3*time.Second)
		for i, err := range results {
			assert.Equal(t, errors.Is(err, ErrNotSent), i == 2)
		}
		j.close(t.Context())
		assert.ErrorIs(t, j.send(t.Context(), one("late", "")), ErrClosed)
	})
}

func TestKeyTakesOneLane(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trips := &roundTrips{takes: time.Second}
		j := newJoiner(trips.send, driver.SendLimits{Batch: 10, Overlap: 4}, time.Minute)
		var wg sync.WaitGroup
		for _, id := range []string{"1", "2", "3"} {
			wg.Go(func() { assert.NoError(t, j.send(t.Context(), one(id, "same"))) })
			synctest.Wait()
		}
		assert.Equal(t, trips.seen(), [][]string{{"1"}}) // none overtakes, though three lanes are idle
		wg.Wait()
		assert.Equal(t, trips.seen(), [][]string{{"1"}, {"2", "3"}})
		j.close(t.Context())
	})
}

// A publisher that gives up says what is certain, and takes nobody with it.
func TestGivingUpWhileJoined(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trips := &roundTrips{takes: time.Second}
		j := newJoiner(trips.send, driver.SendLimits{Batch: 2}, time.Minute)
		short, cancel := context.WithTimeout(t.Context(), 1100*time.Millisecond)
		defer cancel()
		var first, inFlight, patient, waiting, last error
		lent := one("in flight", "")
		var wg sync.WaitGroup
		join := func(ctx context.Context, e *encoding, result *error) {
			wg.Go(func() { *result = j.send(ctx, e) })
			synctest.Wait()
		}
		join(t.Context(), one("first", ""), &first)
		join(short, lent, &inFlight)
		join(t.Context(), one("patient", ""), &patient)
		join(short, one("waiting", ""), &waiting)
		join(t.Context(), one("last", ""), &last)
		wg.Wait()
		assert.NoError(t, errors.Join(first, patient, last))
		assert.ErrorIs(t, inFlight, ErrUnconfirmed)
		assert.True(t, lent.lent, "its buffer is left to the call")
		assert.ErrorIs(t, waiting, ErrNotSent)
		assert.Equal(t, trips.seen(), [][]string{{"first"}, {"in flight", "patient"}, {"last"}})
		j.close(t.Context())
	})
}

// A call that nobody waits for any more ends, and tells each what became of its message.
func TestLastToGiveUpEndsTheCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trips := &roundTrips{takes: time.Hour}
		j := newJoiner(trips.send, driver.SendLimits{Batch: 2}, time.Hour)
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		alone := one("alone", "")
		assert.ErrorIs(t, j.send(short, alone), context.DeadlineExceeded)
		assert.Equal(t, time.Since(began), time.Second)
		assert.True(t, !alone.lent, "the call has let go of its buffer")
		j.close(t.Context())
		assert.Equal(t, time.Since(began), time.Second)
	})
}

func TestCallThatHangsIsUnconfirmed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		trips := &roundTrips{takes: time.Hour}
		j := newJoiner(trips.send, driver.SendLimits{Batch: 10}, time.Minute)
		began := time.Now()
		assert.ErrorIs(t, j.send(t.Context(), one("a", "")), ErrUnconfirmed)
		assert.Equal(t, time.Since(began), time.Minute)
		j.close(t.Context())
	})
}
