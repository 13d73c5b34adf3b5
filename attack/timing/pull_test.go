package timing_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Loops over Pull that end at bad moments.
func TestPulls(t *testing.T) {
	t.Parallel()
	attack(t, "leave the loop with its message unsettled", plain(), pullLeft)
	attack(t, "the context ends under a message that then fails", plain(), pullEnds)
	attack(t, "panic in the loop", plain(), pullPanics)
	attack(t, "end the loop's goroutine", plain(), pullGoexits)
	attack(t, "the context ends while the loop is paused", plain(), pullPaused)
	attack(t, "close broker under a message of the loop", plain(), pullBrokerClosed)
	attack(t, "a tenure is lost under a message of the loop", plain(), pullRevoked)
	attack(t, "leave a sequence in the middle of a key that waits", plain(), pullSequence)
	attack(t, "retries of a loop wait in holds when it ends", undelayed(), pullUndelayed)
}

// loop pulls until its context ends, or each says that it is enough.
func (b *book) loop(s wherry.Source[item], each func(m *wherry.Pulled[item]) bool) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		for m, err := range wherry.Pull(ctx, s) {
			if err != nil {
				return err
			}
			b.begin(m.Value, m.Attempt())
			if !each(m) {
				return nil
			}
		}
		return nil
	}
}

// settles gives a message its outcome, and notes it.
func (b *book) settles(m *wherry.Pulled[item], o wherry.Outcome) {
	m.Settle(o)
	b.over(context.Background(), m.Value, m.Attempt(), o)
}

func pullLeft(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(10, "a")...)
	for n := range 10 {
		r := w.beside(b.loop(wherry.Queue(w.broker, b.topic), func(m *wherry.Pulled[item]) bool {
			assert.Equal(w, m.Attempt(), 1)
			if m.Value.N < n {
				b.settles(m, wherry.Ack())
				return true
			}
			return false
		}))
		assert.NoError(w, r.wait())
	}
	assert.Equal(w, b.acks(), 9)
	assert.Equal(w, b.waits(), 1)
}

func pullEnds(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	for range 10 {
		r := w.beside(b.loop(wherry.Queue(w.broker, b.topic), func(m *wherry.Pulled[item]) bool {
			assert.Equal(w, m.Attempt(), 1)
			time.Sleep(2 * time.Second)
			b.settles(m, wherry.Retry(errTry))
			return true
		}))
		time.Sleep(time.Second)
		r.mustEnd()
	}
	assert.Equal(w, b.waits(), 3)
}

func pullPanics(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	loop := b.loop(wherry.Queue(w.broker, b.topic), func(*wherry.Pulled[item]) bool { panic("in the loop") })
	r := w.beside(func(ctx context.Context) (err error) {
		defer func() { assert.Equal(w, recover(), any("in the loop")) }()
		return loop(ctx)
	})
	time.Sleep(time.Second)
	r.mustEnd()
	assert.Equal(w, b.waits(), 3)
}

func pullGoexits(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	r := w.beside(b.loop(wherry.Queue(w.broker, b.topic), func(m *wherry.Pulled[item]) bool {
		if m.Value.N == 1 {
			runtime.Goexit()
		}
		b.settles(m, wherry.Ack())
		return true
	}))
	time.Sleep(time.Second)
	assert.True(w, r.end() != nil, "its goroutine has ended")
	assert.Equal(w, b.waits(), 2)
}

func pullPaused(w *world) {
	b := w.book("q")
	b.exact = true
	b.publish(series(3, "a")...)
	r := w.beside(b.loop(wherry.Queue(w.broker, b.topic), func(m *wherry.Pulled[item]) bool {
		m.Consumer().Pause("by the loop")
		b.settles(m, wherry.Ack())
		return true
	}))
	time.Sleep(time.Minute)
	assert.Equal(w, b.acks(), 1)
	began := time.Now()
	r.mustEnd()
	assert.Equal(w, time.Since(began), 0*time.Second)
	assert.Equal(w, b.waits(), 2)
}

func pullBrokerClosed(w *world) {
	b := w.book("q")
	b.publish(series(3, "a")...)
	r := w.beside(b.loop(wherry.Queue(w.broker, b.topic), func(m *wherry.Pulled[item]) bool {
		time.Sleep(2 * time.Second)
		b.settles(m, wherry.Ack())
		return true
	}))
	time.Sleep(3 * time.Second)
	w.closeBroker()
	assert.ErrorIs(w, r.wait(), wherry.ErrClosed)
}

func pullRevoked(w *world) {
	b := w.book("q")
	b.publish(series(5, "a")...)
	r := w.beside(b.loop(wherry.Queue(w.broker, b.topic), func(m *wherry.Pulled[item]) bool {
		time.Sleep(time.Second)
		b.settles(m, wherry.Ack())
		return true
	}))
	for range 3 {
		time.Sleep(1500 * time.Millisecond)
		w.faults().Revoke("q", 0)
		w.faults().Disconnect(mem.HardCut)
		w.faults().Reconnect()
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 5)
	assert.Equal(w, b.waits(), 0)
}

func pullSequence(w *world) {
	b := w.sequence(wherry.Skip)
	b.exact = true
	b.publish(series(6, "a", "b")...)
	for n := range 4 {
		r := w.beside(b.loop(wherry.Sequence(w.broker, b.topic), func(m *wherry.Pulled[item]) bool {
			if m.Value.Key == "a" && m.Value.N == n {
				b.settles(m, wherry.RetryAfter(time.Minute, errTry)) // in memory, which ends with the loop
				return true
			}
			b.settles(m, wherry.Ack())
			return true
		}))
		time.Sleep(time.Second)
		r.mustEnd()
	}
	assert.Equal(w, b.acks(), 6+3)
	assert.Equal(w, b.waits(), 3)
}

func pullUndelayed(w *world) {
	b := w.book("q", steadily(5, time.Second))
	b.exact = true
	b.publish(series(6, "a")...)
	for range 3 {
		r := w.beside(b.loop(wherry.Queue(w.broker, b.topic), func(m *wherry.Pulled[item]) bool {
			if m.Attempt() < 3 {
				b.settles(m, wherry.Retry(errTry))
			} else {
				b.settles(m, wherry.Ack())
			}
			return true
		}))
		time.Sleep(2500 * time.Millisecond)
		r.mustEnd()
	}
	assert.Equal(w, b.acks()+b.waits(), 6)
}
