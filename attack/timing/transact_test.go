package timing_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// Transactions, of which each message has one result or none.
func TestTransactions(t *testing.T) {
	t.Parallel()
	attack(t, "stop while handlers of one work", plain(), txStopped)
	attack(t, "abandon one handler of one", plain(), txAbandoned)
	attack(t, "a tenure is lost under one", plain(), txRevokedAtOnce)
	attack(t, "a tenure ends with time under one, and the stop comes", plain(), txRevokedWithTime)
	attack(t, "commits are refused while it stops", plain(), txRefusedAtTheStop)
	attack(t, "the connection dies while one waits for room", queues(mem.Config{MaxMessages: 20}), txCutWhileCommitting)
	attack(t, "the target is full through the whole drain", queues(mem.Config{MaxMessages: 20}), txFullTarget)
	attack(t, "close broker while one waits for room", queues(mem.Config{MaxMessages: 20}), txBrokerClosed)
	attack(t, "panic, end the goroutine and time out after publishing", plain(), txFailsAfterPublishing)
	attack(t, "publish after the handler has returned", plain(), txPublishesTooLate)
	attack(t, "pause in the middle of one, and stop", plain(), txPaused)
	attack(t, "scale down in the middle of one", plain(), txScaledDown)
	attack(t, "a commit is written and not confirmed as it stops", plain(), txUnconfirmed)
	attack(t, "without delays, with retries in holds", undelayed(), txUndelayed)
	attack(t, "leases end under one that is slow", queues(mem.Config{Lease: time.Second}), txLeases)
	attack(t, "everything at once, seed 41", plain(), txStorm)
}

// A ledger is a consumer that publishes one result of each message in its transactions.
type ledger struct {
	*book
	out *wherry.TxPublisher[item]
	got map[item]int
}

// ledger opens one. At the end each message has one result, or is left, or is dead.
func (w *world) ledger(opts ...wherry.TopicOption) *ledger {
	results := wherry.NewTopic("results", codec.JSON[item]{})
	l := &ledger{book: w.book("q", opts...), out: wherry.NewTxPublisher(results), got: map[item]int{}}
	w.checks = append(w.checks, func() {
		if w.closed {
			return
		}
		for _, it := range w.take(driver.Source{Topics: []driver.Topic{{Name: "results"}}}) {
			l.got[it]++ // fillers too, which nobody asks for
		}
		for _, it := range l.sent {
			if n := l.got[it] + l.left[it] + l.dead[it]; n != 1 {
				w.Errorf("%v has %d results, is left %d times and dead %d times", it, l.got[it], l.left[it], l.dead[it])
			}
		}
	})
	return l
}

// consumer publishes a result, and then does as h says. Its transactions have up to ten messages.
func (l *ledger) consumer(h wherry.Handler[item], opts ...wherry.ConsumeOption) *wherry.Consumer {
	return wherry.Consume(wherry.Transacted(l.w.mem, l.topic, wherry.Publishing(l.out), wherry.TxAtMost(10, time.Minute)),
		l.handler(func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
			v := m.Value
			if err := l.out.Publish(ctx, &v); err != nil {
				return wherry.Retry(err)
			}
			return h(ctx, m)
		}), opts...)
}

// results is how many results are seen.
func (l *ledger) results() int {
	return l.w.depth(driver.Source{Topics: []driver.Topic{{Name: "results"}}})
}

// fill fills the results but for n.
func (l *ledger) fill(n int) {
	results := wherry.NewTopic("results", codec.JSON[item]{})
	p, err := wherry.NewPublisher(l.w.Context(), l.w.broker, results)
	assert.NoError(l.w, err)
	for i := range 20 - n {
		assert.NoError(l.w, p.Publish(l.w.Context(), &item{"filler", i}))
	}
	assert.NoError(l.w, p.Close(l.w.Context()))
}

func txStopped(w *world) {
	l := w.ledger()
	l.exact = true
	l.publish(series(25, "a")...)
	r := w.start(l.consumer(takes(time.Second), wherry.Concurrency(4)))
	time.Sleep(1500 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, l.results(), 25)
}

func txAbandoned(w *world) {
	w.within = 5*time.Second + 2*grace
	l := w.ledger()
	l.publish(series(10, "a")...)
	let := make(chan struct{})
	r := w.start(l.consumer(func(_ context.Context, m *wherry.Message[item]) wherry.Outcome {
		if m.Value.N == 3 {
			<-let
		}
		return wherry.Ack()
	}, wherry.Concurrency(4), wherry.DrainTime(5*time.Second)))
	time.Sleep(time.Second)
	err := r.end()
	left, ok := errors.AsType[*wherry.AbandonedError](err)
	assert.True(w, ok && left.Handlers == 1, "one handler is abandoned")
	close(let)
	time.Sleep(time.Second)
	assert.Equal(w, l.results()+l.waits(), 10)
}

func txRevokedAtOnce(w *world) {
	l := w.ledger()
	l.publish(series(30, "a")...)
	r := w.start(l.consumer(takes(time.Second), wherry.Concurrency(4), wherry.Workers(2)))
	for range 5 {
		time.Sleep(1300 * time.Millisecond)
		w.faults().Revoke("q", 0)
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, l.results(), 30)
}

func txRevokedWithTime(w *world) {
	l := w.ledger()
	l.publish(series(30, "a")...)
	r := w.start(l.consumer(takes(time.Second), wherry.Concurrency(4)))
	for _, d := range []time.Duration{100 * time.Millisecond, 2 * time.Second, 5 * time.Second} {
		time.Sleep(1500 * time.Millisecond)
		w.faults().Revoke("q", d)
	}
	r.mustEnd()
	assert.Equal(w, l.results()+l.waits(), 30)
}

func txRefusedAtTheStop(w *world) {
	l := w.ledger()
	l.publish(series(10, "a")...)
	w.faults().FailSettle("q", 3)
	r := w.start(l.consumer(takes(time.Second), wherry.Concurrency(10)))
	time.Sleep(500 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, l.results(), 10)
}

func txCutWhileCommitting(w *world) {
	l := w.ledger()
	l.fill(5)
	l.publish(series(10, "a")...)
	r := w.start(l.consumer(ack))
	time.Sleep(5 * time.Second)
	assert.Equal(w, l.results(), 15)
	w.faults().Disconnect(mem.HardCut)
	time.Sleep(2 * time.Second)
	w.faults().Reconnect()
	time.Sleep(2 * time.Second)
	l.emptyFillers(15)
	time.Sleep(2 * time.Minute)
	r.mustEnd()
	assert.Equal(w, l.results(), 10)
}

// emptyFillers takes n fillers.
func (l *ledger) emptyFillers(n int) {
	results := wherry.NewTopic("results", codec.JSON[item]{})
	for m, err := range wherry.Pull(l.w.Context(), wherry.Queue(l.w.broker, results)) {
		assert.NoError(l.w, err)
		assert.Equal(l.w, m.Value.Key, "filler")
		m.Settle(wherry.Ack())
		if n--; n == 0 {
			break
		}
	}
}

func txFullTarget(w *world) {
	w.within = 5*time.Second + 2*grace + 10*time.Second
	l := w.ledger()
	l.fill(0)
	l.publish(series(10, "a")...)
	r := w.start(l.consumer(ack, wherry.DrainTime(5*time.Second)))
	time.Sleep(2 * time.Second)
	_ = r.end()
	assert.Equal(w, l.waits(), 10)
	assert.Equal(w, l.results(), 20)
}

func txBrokerClosed(w *world) {
	l := w.ledger()
	l.fill(0)
	l.publish(series(10, "a")...)
	r := w.start(l.consumer(ack))
	time.Sleep(2 * time.Second)
	assert.Equal(w, l.waits(), 10)
	w.closeBroker()
	assert.ErrorIs(w, r.wait(), wherry.ErrClosed)
}

func txFailsAfterPublishing(w *world) {
	l := w.ledger(steadily(5, time.Second))
	l.exact = true
	l.publish(series(20, "a")...)
	r := w.start(l.consumer(func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		switch {
		case m.Value.N%4 == 0 && m.Attempt() == 1:
			panic("after publishing")
		case m.Value.N%4 == 1 && m.Attempt() == 1:
			<-ctx.Done()
			return wherry.Retry(context.Cause(ctx))
		case m.Value.N%4 == 2:
			return wherry.Reject(errTry)
		case m.Value.N%4 == 3 && m.Published().Add(10*time.Second).After(time.Now()):
			return wherry.Defer(time.Second)
		}
		return wherry.Ack()
	}, wherry.Concurrency(4), wherry.HandlerTimeout(time.Second)))
	time.Sleep(5 * time.Second)
	r.mustEnd()
	assert.Equal(w, l.results(), 15)
	assert.Equal(w, l.letters(), 5)
}

func txPublishesTooLate(w *world) {
	l := w.ledger()
	l.exact = true
	l.publish(series(10, "a")...)
	var mu sync.Mutex
	var errs []error
	r := w.start(l.consumer(func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		v := m.Value
		go func() {
			time.Sleep(100 * time.Millisecond)
			err := l.out.Publish(ctx, &v)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}()
		return wherry.Ack()
	}))
	time.Sleep(10 * time.Second)
	r.mustEnd()
	mu.Lock()
	defer mu.Unlock()
	assert.Equal(w, len(errs), 10)
	for _, err := range errs {
		assert.ErrorIs(w, err, wherry.ErrNotSent)
	}
	assert.Equal(w, l.results(), 10)
}

func txPaused(w *world) {
	l := w.ledger()
	l.exact = true
	l.publish(series(30, "a")...)
	c := l.consumer(takes(time.Second), wherry.Concurrency(3))
	r := w.start(c)
	time.Sleep(1500 * time.Millisecond)
	resume := c.Pause("in the middle")
	time.Sleep(10 * time.Second)
	assert.Equal(w, l.results(), 6) // what was handled is committed without the rest
	resume()
	time.Sleep(500 * time.Millisecond)
	c.Pause("again")
	r.endAnyhow()
	assert.Equal(w, l.results()+l.waits(), 30)
	assert.Equal(w, l.waits(), w.left)
}

func txScaledDown(w *world) {
	l := w.ledger()
	l.exact = true
	d := &dial{}
	d.want.Store(4)
	l.publish(series(80, "a")...)
	r := w.start(l.consumer(takes(300*time.Millisecond), wherry.Concurrency(2), d.between(1, 4)))
	for n := range 20 {
		time.Sleep(500 * time.Millisecond)
		d.want.Store(int64(1 + n*3%4))
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, l.results(), 80)
}

func txUnconfirmed(w *world) {
	l := w.ledger()
	l.publish(series(30, "a")...)
	w.faults().CutAfter("results", 2)
	r := w.start(l.consumer(takes(time.Second), wherry.Concurrency(10)))
	time.Sleep(500 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, l.results(), 30)
}

func txUndelayed(w *world) {
	l := w.ledger(steadily(4, 2*time.Second))
	l.exact, l.attempts = true, 4
	l.publish(series(30, "a")...)
	r := w.start(l.consumer(func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		return fails(m.Value.N%5)(ctx, m)
	}, wherry.Concurrency(3)))
	time.Sleep(3 * time.Second)
	r.mustEnd()
	assert.Equal(w, l.results(), 24)
	assert.Equal(w, l.letters(), 6)
}

func txLeases(w *world) {
	l := w.ledger()
	l.exact = true
	l.publish(series(12, "a")...)
	r := w.start(l.consumer(takes(3*time.Second), wherry.Concurrency(2)))
	time.Sleep(4 * time.Second)
	r.mustEnd()
	assert.Equal(w, l.results(), 12)
}

func txStorm(w *world) {
	w.seed(41)
	l := w.ledger(steadily(1000, 100*time.Millisecond))
	l.attempts = 0
	l.publish(series(150, "a")...)
	c := l.consumer(func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		if err := wait(ctx, w.ms(30)); err != nil {
			return wherry.Retry(err)
		}
		switch w.roll(8) {
		case 0:
			return wherry.Retry(errTry)
		case 1:
			return wherry.Defer(0)
		case 2:
			if m.Value.N%10 == 0 {
				return wherry.Reject(errTry)
			}
		}
		return wherry.Ack()
	}, wherry.Concurrency(3), wherry.Workers(2), wherry.MaxDelivered(100_000))
	r := w.start(c)
	for range 60 {
		time.Sleep(20*time.Millisecond + w.ms(60))
		switch w.roll(6) {
		case 0:
			w.faults().FailSettle("q", 1)
		case 1:
			w.faults().CutBefore("results", 1)
		case 2:
			w.faults().Revoke("q", w.ms(2)*20)
		case 3:
			c.PauseFor(w.ms(100), "a rest")
		case 4:
			w.faults().Disconnect(mem.HardCut)
			time.Sleep(w.ms(300))
			w.faults().Reconnect()
		case 5:
			w.faults().FailSend("q.dlq", 1, nil)
		}
	}
	w.faults().Clear()
	time.Sleep(5 * time.Minute)
	r.mustEnd()
	assert.Equal(w, l.results()+l.letters(), 150)
}
