package gap_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/driver/gap"
)

// A reference is what a tracker should be: a map of finished positions. It has no runs, no bound and no memory of its own.
type reference struct {
	finished          map[uint64]bool
	commit, next, top uint64 // top is above all that is finished
}

func (r *reference) finish(p uint64) {
	r.top = max(r.top, p+1)
	r.finished[p] = true
	for r.finished[r.commit] {
		r.commit++
	}
}

func (r *reference) receive(p uint64) bool {
	for ; r.next < p; r.next++ {
		r.finish(r.next)
	}
	r.next++
	return !r.finished[p]
}

// above lists the finished positions above the commit position.
func (r *reference) above() []uint64 {
	var ps []uint64
	for p := r.commit; p < r.top; p++ {
		if r.finished[p] {
			ps = append(ps, p)
		}
	}
	return ps
}

// bytesOf is what a number takes in a state, and overhead what a state takes beside its runs.
func bytesOf(n uint64) int {
	size := 1
	for ; n >= 32; n /= 32 {
		size++
	}
	return size
}

const overhead = 10

// state returns the size of the state of all that is finished, and what of it a state of at most room bytes holds.
func (r *reference) state(room int) (size int, held []uint64) {
	ps := r.above()
	last, size := r.commit, overhead
	for i := 0; i < len(ps); {
		end := i + 1
		for end < len(ps) && ps[end] == ps[end-1]+1 {
			end++
		}
		size += bytesOf(ps[i]-last-1) + bytesOf(uint64(end-i-1))
		if size <= room {
			held = ps[:end]
		}
		last, i = ps[end-1]+1, end
	}
	if len(ps) == 0 {
		size = 0
	}
	return size, held
}

// A modelLog is a partition with its broker and its driver: what the log has, what was committed, and what the driver holds.
type modelLog struct {
	t   *testing.T
	rnd *rand.Rand
	cfg gap.Config

	records []uint64 // with holes
	reader  int      // the next of them
	tracker *gap.Tracker
	ref     *reference
	read    uint64 // where the log is read, records or not
	full    bool
	hand    []uint64
	back    []uint64 // released, sorted

	// What the broker keeps.
	position  uint64
	state     string
	committed []uint64 // what the state says is finished

	times map[uint64]int // how often each record was handled to its end
	steps []string

	// How often something happened that the model is for.
	restarts, refusedStates, cut, pauses, vanished int
}

func newModelLog(t *testing.T, seed uint64) *modelLog {
	m := &modelLog{t: t, rnd: rand.New(rand.NewPCG(seed, 5)), times: map[uint64]int{}}
	m.cfg.MaxState = []int{0, -1, 1, 12, 13, 16, 20, 24, 40, 64, 4096}[m.rnd.IntN(11)]
	m.cfg.MaxSpan = []uint64{0, 0, 1, 2, 7, 16, 40}[m.rnd.IntN(7)]
	m.cfg.Log = []string{"", "orders-0"}[m.rnd.IntN(2)]
	p := []uint64{0, 1, 1 << 40, 1<<64 - 40_000}[m.rnd.IntN(4)]
	m.position = p
	holes := []int{1, 2, 4, 40}[m.rnd.IntN(4)]
	for range 100 {
		if m.rnd.IntN(4) == 0 {
			p += uint64(m.rnd.IntN(holes))
		}
		m.records = append(m.records, p)
		p++
	}
	m.assign("")
	return m
}

// assign begins a tenure with what the broker keeps. A fault is what happened to the state meanwhile.
func (m *modelLog) assign(fault string) {
	m.notef("assigned at %d %q %s", m.position, m.state, fault)
	cfg, state := m.cfg, m.state
	switch fault {
	case "lost":
		state = ""
	case "cut":
		state = state[:m.rnd.IntN(len(state))]
	case "changed":
		i := m.rnd.IntN(len(state))
		state = state[:i] + string(state[i]^byte(1+m.rnd.IntN(127))) + state[i+1:]
	case "foreign":
		state = "member-7@host"
	case "future":
		state = "gap2" + state[4:]
	case "other log":
		cfg.Log += "x"
	}
	m.tracker = gap.New(cfg, m.position)
	m.ref = &reference{finished: map[uint64]bool{}, commit: m.position, next: m.position, top: m.position}
	m.full, m.hand, m.back = false, nil, nil
	err := m.tracker.Restore(state, math.MaxUint64)
	if damaged := fault != "" && state != ""; damaged != errors.Is(err, gap.ErrState) || (err != nil) != damaged {
		m.t.Errorf("restore of %q: %v", state, err)
	}
	if err != nil {
		m.refusedStates++
	}
	if fault == "" {
		for _, p := range m.committed {
			m.ref.finish(p)
		}
	}
	m.seek(m.position)
}

// seek has the log read from a position.
func (m *modelLog) seek(p uint64) {
	m.read = p
	m.reader, _ = slices.BinarySearch(m.records, p)
}

func (m *modelLog) notef(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *modelLog) run(steps int) {
	m.check()
	for range steps {
		m.step()
		m.check()
	}
	m.drain()
}

func (m *modelLog) step() {
	switch k := m.rnd.IntN(100); {
	case k < 30:
		m.receive(1 + m.rnd.IntN(4))
	case k < 70:
		m.done()
	case k < 76:
		m.release()
	case k < 82:
		m.redeliver()
	case k < 87:
		m.refused()
	case k < 89:
		m.rewind()
	case k < 90:
		m.compact()
	case k < 97:
		m.commit()
	default:
		m.restart()
	}
}

// receive reads on. Now and then it does so in a pause: a client had fetched before.
func (m *modelLog) receive(n int) {
	for range n {
		if m.reader == len(m.records) || m.tracker.Paused() && m.rnd.IntN(20) > 0 {
			return
		}
		p := m.records[m.reader]
		m.notef("receive %d", p)
		m.back = slices.DeleteFunc(m.back, func(r uint64) bool { // by a rewind it would have come again
			gone := m.read <= r && r < p
			if gone {
				m.ref.finish(r)
				m.vanished++
			}
			return gone
		})
		m.reader++
		m.read = p + 1
		want := false
		i, released := slices.BinarySearch(m.back, p)
		switch {
		case p >= m.ref.next:
			want = m.ref.receive(p)
		case released: // it comes again by a rewind
			m.back = slices.Delete(m.back, i, i+1)
			want = true
		}
		got, err := m.tracker.Receive(p)
		if got != want || err != nil {
			m.t.Errorf("receive %d: %v, %v, want %v", p, got, err, want)
		}
		if want {
			m.hand = append(m.hand, p)
		}
		m.regulate()
	}
}

// done finishes one in hand. Mostly the first is slow, so that much is finished above it.
func (m *modelLog) done() {
	if len(m.hand) == 0 {
		return
	}
	i := m.rnd.IntN(len(m.hand))
	if i == 0 && m.rnd.IntN(3) > 0 {
		i = m.rnd.IntN(len(m.hand))
	}
	p := m.hand[i]
	m.hand = slices.Delete(m.hand, i, i+1)
	m.notef("done %d", p)
	if err := m.tracker.Done(p); err != nil {
		m.t.Errorf("done %d: %v", p, err)
	}
	m.ref.finish(p)
	m.regulate()
	m.times[p]++
}

func (m *modelLog) release() {
	if len(m.hand) == 0 {
		return
	}
	i := m.rnd.IntN(len(m.hand))
	p := m.hand[i]
	m.hand = slices.Delete(m.hand, i, i+1)
	m.notef("release %d", p)
	if err := m.tracker.Release(p); err != nil {
		m.t.Errorf("release %d: %v", p, err)
	}
	m.back = append(m.back, p)
	slices.Sort(m.back)
}

func (m *modelLog) redeliver() {
	p, ok := m.tracker.Redeliver()
	m.notef("redeliver %d, %v", p, ok)
	switch {
	case ok != (len(m.back) > 0):
		m.t.Errorf("redeliver: %d, %v with %d released", p, ok, len(m.back))
	case ok:
		if p != m.back[0] {
			m.t.Errorf("redeliver %d, want %d", p, m.back[0])
		}
		m.hand = append(m.hand, p)
		m.back = m.back[1:]
	}
}

// refused gives answers that nobody may give. None of them changes anything, which check sees.
func (m *modelLog) refused() {
	p := m.ref.next + uint64(m.rnd.IntN(3))
	m.notef("answers for %d, which was not received, and others", p)
	m.wantNotInHand("done, unknown", m.tracker.Done(p))
	m.wantNotInHand("release, unknown", m.tracker.Release(p))
	if len(m.back) > 0 {
		p = m.back[m.rnd.IntN(len(m.back))]
		m.wantNotInHand("done, released", m.tracker.Done(p))
		m.wantNotInHand("release, released", m.tracker.Release(p))
	}
	for p := range m.ref.finished {
		if p < m.ref.next {
			if err := m.tracker.Done(p); err != nil {
				m.t.Errorf("done again: %v", err)
			}
			m.wantNotInHand("release, finished", m.tracker.Release(p))
			break
		}
	}
	if m.reader > 0 {
		if fresh, err := m.tracker.Receive(m.records[m.reader-1]); fresh || !errors.Is(err, gap.ErrOrder) {
			m.t.Errorf("received twice: %v, %v", fresh, err)
		}
	}
}

func (m *modelLog) wantNotInHand(what string, err error) {
	if !errors.Is(err, gap.ErrNotInHand) {
		m.t.Errorf("%s: %v", what, err)
	}
}

// rewind reads the log again from somewhere, as after a lost connection.
func (m *modelLog) rewind() {
	from := min(m.position, m.ref.next)
	p := from + uint64(m.rnd.Int64N(int64(m.ref.next-from)+3))
	m.notef("rewind to %d", p)
	m.tracker.Rewind(p)
	m.seek(min(p, m.ref.next))
}

// compact takes a record out of the log, one that is released if there is one. The last stays.
func (m *modelLog) compact() {
	i := m.rnd.IntN(len(m.records))
	if len(m.back) > 0 {
		i, _ = slices.BinarySearch(m.records, m.back[m.rnd.IntN(len(m.back))])
	}
	if i >= len(m.records)-1 {
		return
	}
	m.notef("%d is compacted", m.records[i])
	m.records = slices.Delete(m.records, i, i+1)
	if i < m.reader {
		m.reader--
	}
}

func (m *modelLog) commit() {
	state := m.tracker.AppendState([]byte("before "))
	m.position, m.state = m.tracker.Commit(), strings.TrimPrefix(string(state), "before ")
	m.notef("commit %d %q", m.position, m.state)
	size, held := m.ref.state(m.cfg.MaxState)
	m.committed = held
	if size > max(0, m.cfg.MaxState) {
		m.cut++
	}
	if len(m.state) > max(0, m.cfg.MaxState) {
		m.t.Errorf("a state of %d bytes, and the broker takes %d", len(m.state), m.cfg.MaxState)
	}
}

// restart forgets all but what was committed: a crash, or a revocation after which another is assigned. What is in hand is
// handled to no end that anybody hears of.
func (m *modelLog) restart() {
	faults := []string{"", "", "", "", ""}
	if m.state != "" {
		faults = append(faults, "lost", "cut", "changed", "foreign", "future", "other log")
	}
	m.restarts++
	fault := faults[m.rnd.IntN(len(faults))]
	m.assign(fault)
	if fault == "other log" {
		// It is the same log after all: the state of that name is not refused the next time.
		m.tracker = gap.New(m.cfg, m.position)
	}
}

// bounds are those of the window.
func (m *modelLog) bounds() (state int, span uint64) {
	state, span = m.cfg.MaxState, m.cfg.MaxSpan
	if state <= 0 {
		state = 64 << 10
	}
	if span == 0 {
		span = 4 << 20
	}
	return state, span
}

// regulate is the pause as it should be, beside the tracker's own.
func (m *modelLog) regulate() {
	bound, span := m.bounds()
	size, _ := m.ref.state(0)
	far := max(m.ref.next, m.ref.commit) - m.ref.commit
	switch {
	case 4*size >= 3*bound, far >= span:
		if !m.full {
			m.pauses++
		}
		m.full = true
	case 2*size <= bound && 2*far <= span:
		m.full = false
	}
}
