package timing_test

import (
	"context"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
)

// The log, whose groups commit positions and whose retries wait in holds.
func TestLogs(t *testing.T) {
	t.Parallel()
	attack(t, "crash under handlers of two consumers", keeping(logs(4)), logCrashes)
	attack(t, "commits are refused until the stop", keeping(logs(2)), logRefusesCommits)
	attack(t, "commits are lost, and a crash", keeping(logs(1)), logLosesCommits)
	attack(t, "states beside the commits are damaged between runs", keeping(logs(2)), logDamaged)
	attack(t, "the connection dies in the drain", logs(2), logCutInTheDrain)
	attack(t, "commits are not answered, with retries", logs(2), logCommitsUnanswered)
	attack(t, "a partition is revoked while its retries wait in holds", logs(2), logRevokedWithHolds)
	attack(t, "crash of the owner of keys that wait for retries", keeping(logs(3)), logSequenceCrashes)
	attack(t, "rebalances under block, and the stop", keeping(logs(3)), logSequenceBlocked)
	attack(t, "topics vanish while holds wait", logs(2), logWiped)
}

func logCrashes(w *world) {
	b := w.book("q")
	b.publish(series(40, "a", "b", "c")...)
	var runs []*run
	for range 2 {
		runs = append(runs, w.start(b.named(takes(50*time.Millisecond), wherry.Concurrency(3), wherry.Prefetch(6))))
	}
	for n := range 4 {
		time.Sleep(400 * time.Millisecond)
		w.stand.kill(w, "q", n)
	}
	time.Sleep(time.Minute)
	for _, r := range runs {
		r.mustEnd()
	}
	assert.Equal(w, b.acks(), 120)
	assert.Equal(w, b.waits(), 0)
}

func logRefusesCommits(w *world) {
	w.within += 10 * time.Second
	b := w.book("q")
	b.publish(series(20, "a", "b")...)
	c := b.named(takes(50*time.Millisecond), wherry.Concurrency(2), wherry.DrainTime(2*time.Second))
	r := w.start(c)
	time.Sleep(10 * time.Millisecond)
	w.log.Faults().FailCommit("q", -1)
	time.Sleep(500 * time.Millisecond)
	_ = r.end()
	w.log.Faults().FailCommit("q", 0)
	r = w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 40)
	assert.Equal(w, b.waits(), 0)
}

func logLosesCommits(w *world) {
	b := w.book("q")
	b.publish(series(30, "a")...)
	w.log.Faults().LoseCommit("q", 5)
	r := w.start(b.named(takes(100*time.Millisecond), wherry.Prefetch(1)))
	time.Sleep(550 * time.Millisecond)
	w.stand.kill(w, "q", 0)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 30)
	assert.Equal(w, b.waits(), 0)
}

func logDamaged(w *world) {
	b := w.book("q")
	b.publish(series(30, "a", "b")...)
	c := b.named(func(ctx context.Context, m *wherry.Message[item]) wherry.Outcome {
		return takes(time.Duration(10+m.Value.N%3*200)*time.Millisecond)(ctx, m)
	}, wherry.Concurrency(4))
	for range 5 {
		r := w.start(c)
		time.Sleep(300 * time.Millisecond)
		r.mustEnd()
		w.log.Faults().DamageStates("q", "")
	}
	r := w.start(c)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 60)
	assert.Equal(w, b.waits(), 0)
}

func logCutInTheDrain(w *world) {
	w.within = 5*time.Second + 2*grace + 10*time.Second
	b := w.book("q", steadily(3, time.Second))
	b.publish(series(20, "a", "b")...)
	r := w.start(b.named(fails(1), wherry.DrainTime(5*time.Second)))
	time.Sleep(500 * time.Millisecond)
	r.stop()
	time.Sleep(200 * time.Millisecond) // while the retries wait in holds
	w.log.Faults().Disconnect(mem.HardCut)
	assert.True(w, r.end() != nil, "it is not known what is left")
	w.log.Faults().Reconnect()
	r = w.start(b.named(fails(1)))
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 40)
}

func logCommitsUnanswered(w *world) {
	b := w.book("q", steadily(3, time.Second))
	b.attempts = 3
	b.publish(series(20, "a", "b")...)
	w.log.Faults().CutAfterCommit("q", 15)
	w.log.Faults().CutAfter("q.hold.800ms", 3)
	r := w.start(b.named(fails(2), wherry.Concurrency(3)))
	time.Sleep(500 * time.Millisecond)
	r.mustEnd()
	assert.Equal(w, b.acks(), 40)
	assert.Equal(w, b.waits(), 0)
}

func logRevokedWithHolds(w *world) {
	b := w.book("q", steadily(4, time.Second))
	b.attempts = 4
	b.publish(series(20, "a", "b")...)
	r := w.start(b.named(fails(3), wherry.Concurrency(2)))
	for n := range 8 {
		time.Sleep(400 * time.Millisecond)
		w.log.Faults().Revoke("", time.Duration(n%3)*100*time.Millisecond)
	}
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 40)
	assert.Equal(w, b.letters(), 0)
}

func logSequenceCrashes(w *world) {
	b := w.sequence(wherry.Skip)
	b.publish(series(12, "a", "b", "c", "d")...)
	r := w.start(b.inOrder(wherry.Skip, failsAt(4, 1), wherry.Concurrency(2)))
	time.Sleep(700 * time.Millisecond)
	w.stand.kill(w, "s", 0)
	time.Sleep(5 * time.Second)
	assert.Equal(w, w.stand.opened("s"), 2)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 48)
	assert.Equal(w, b.letters(), 0)
}

func logSequenceBlocked(w *world) {
	b := w.sequence(wherry.Block)
	broken := flag()
	b.publish(series(10, "bad", "good", "other")...)
	of := func() *wherry.Consumer { return b.inOrder(wherry.Block, mending(3, broken, wherry.Retry(errTry))) }
	r := w.start(of())
	time.Sleep(time.Second)
	s := w.start(of())
	for range 4 {
		time.Sleep(2 * time.Second)
		w.log.Faults().Revoke("s", time.Second)
	}
	r.mustEnd()
	time.Sleep(5 * time.Second)
	broken.Store(false)
	time.Sleep(time.Minute)
	s.mustEnd()
	assert.Equal(w, b.acks(), 30)
	assert.Equal(w, b.waits(), 0)
}

func logWiped(w *world) {
	b := w.book("q", steadily(3, 5*time.Second))
	b.attempts = 3
	b.publish(series(10, "a")...)
	r := w.start(b.named(fails(1)))
	time.Sleep(2 * time.Second)
	w.wipe()
	time.Sleep(5 * time.Second)
	b.publish(series(10, "b")...)
	time.Sleep(time.Minute)
	r.mustEnd()
	assert.Equal(w, b.acks(), 10)
	assert.Equal(w, b.waits(), 0)
}
