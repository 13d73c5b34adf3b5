package gap_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/wherryhq/wherry/driver/gap"
)

const (
	modelSeeds  = 3000
	modelSteps  = 150
	modelShards = 8
)

// TestTrackerAgreesWithTheModel drives a tracker and a map of finished positions with the same steps. Whatever they are, both
// say the same of each position, and no record of the log is lost.
func TestTrackerAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	var tally modelTally
	t.Cleanup(func() {
		t.Logf("%d restarts, %d states refused, %d states cut, %d pauses, %d released that vanished",
			tally.restarts, tally.refused, tally.cut, tally.pauses, tally.vanished)
		t.Logf("%d records handled, %d of them again after a restart", tally.handled, tally.repeated)
		t.Logf("%d seeds (0 to %d), %d steps", tally.seeds, modelSeeds-1, tally.steps)
		for _, n := range []int{tally.restarts, tally.refused, tally.cut, tally.pauses, tally.repeated} {
			if n < modelSeeds/4 {
				t.Error("hardly any of these: the model does not try what it is for")
			}
		}
		if tally.vanished < modelSeeds/100 {
			t.Error("hardly any released record vanished before a rewind")
		}
	})
	for shard := range uint64(modelShards) {
		t.Run(fmt.Sprint(shard), func(t *testing.T) {
			t.Parallel()
			for seed := shard; seed < modelSeeds; seed += modelShards {
				m := newModelLog(t, seed)
				m.run(modelSteps)
				if t.Failed() {
					t.Fatalf("seed %d, %+v, after:\n%s", seed, m.cfg, strings.Join(m.steps[max(0, len(m.steps)-12):], "\n"))
				}
				tally.add(m)
			}
		})
	}
}

// TestPartitionsAreApart drives several logs in turn, each with its tracker: what ends with one leaves the others alone.
func TestPartitionsAreApart(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		logs := []*modelLog{newModelLog(t, 3*seed), newModelLog(t, 3*seed+1), newModelLog(t, 3*seed+2)}
		for i := range 100 {
			m := logs[(i*i+int(seed))%len(logs)]
			if i%20 == 19 {
				m.restart() // it is revoked, and comes back with what was committed
			} else {
				m.step()
			}
			for _, m := range logs {
				m.check()
			}
		}
		for _, m := range logs {
			m.drain()
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// A modelTally is what the runs of all shards were about.
type modelTally struct {
	mu                                                                        sync.Mutex
	seeds, steps, restarts, refused, cut, pauses, vanished, handled, repeated int
}

func (c *modelTally) add(m *modelLog) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seeds++
	c.steps += len(m.steps)
	c.restarts += m.restarts
	c.refused += m.refusedStates
	c.cut += m.cut
	c.pauses += m.pauses
	c.vanished += m.vanished
	for _, times := range m.times {
		c.handled++
		if times > 1 {
			c.repeated++
		}
	}
}

// check compares all that can be asked.
func (m *modelLog) check() {
	size, _ := m.ref.state(0)
	above := m.ref.above()
	want := gap.Status{
		Commit:   m.ref.commit,
		Next:     max(m.ref.next, m.ref.commit),
		InHand:   len(m.hand),
		Released: len(m.back),
		Finished: uint64(len(above)),
		State:    size,
		Paused:   m.full && m.read >= m.ref.next && (m.ref.next >= max(m.ref.top, m.ref.commit) || m.excessive(size)),
	}
	for m.ref.finished[want.Next] {
		want.Next++
	}
	for i, p := range above {
		if i == 0 || above[i-1]+1 < p {
			want.Runs++
		}
	}
	if got := m.tracker.Status(); got != want {
		m.t.Errorf("got  %+v\nwant %+v", got, want)
	}
	text := ""
	if want.Paused {
		text = fmt.Sprintf("log window full behind position %d", m.ref.commit)
		if len(m.back) > 0 && m.back[0] == m.ref.commit {
			text += ", which was released"
		}
	}
	if got := m.tracker.Waiting(); got != text {
		m.t.Errorf("waits for %q, want %q", got, text)
	}
}

// excessive is a window that is twice over its bounds.
func (m *modelLog) excessive(size int) bool {
	bound, span := m.bounds()
	return m.ref.next > m.ref.commit && (m.ref.next-m.ref.commit >= 2*span || size >= 2*max(bound-bound/4, 1))
}

// drain handles all that is left, and looks whether that is all that was there.
func (m *modelLog) drain() {
	for i := 0; m.reader < len(m.records) || len(m.hand)+len(m.back) > 0; i++ {
		m.receive(1)
		if i%3 > 0 || m.tracker.Paused() {
			m.redeliver()
			m.done()
		}
		m.check()
		if m.t.Failed() {
			return
		}
		if i > 100*len(m.records) {
			m.t.Errorf("it does not end: %+v", m.tracker.Status())
			return
		}
	}
	for _, p := range m.records {
		switch n := m.times[p]; {
		case n == 0:
			m.t.Errorf("%d was lost", p)
		case n > 1+m.restarts:
			m.t.Errorf("%d was handled %d times in %d restarts", p, n, m.restarts)
		}
	}
	last := m.records[len(m.records)-1] + 1
	if s := m.tracker.Status(); s != (gap.Status{Commit: last, Next: last}) || len(m.tracker.AppendState(nil)) > 0 {
		m.t.Errorf("all is finished, up to %d, and it says %+v", last, s)
	}
}
