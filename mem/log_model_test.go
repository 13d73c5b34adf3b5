package mem

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// The model is a log as its users know it: for each group, which records are finished, and who has the others in hand. What it
// knows of tenures it was told by revocations. Steps are chosen at random: sends, joins, leaves, crashes, revocations with and
// without grace, releases, refused commits and cuts.

const (
	logModelSteps   = 120
	logModelMembers = 4
)

type logModel struct {
	t     *testing.T
	rnd   *rand.Rand
	b     *LogBroker
	exact bool // the state has room for all, so that nothing finished comes again
	topic driver.Topic
	sends []driver.Sender // to all, and to each group
	group []*logModelGroup
	sent  map[string]int // by key
	steps []string
}

type logModelGroup struct {
	m       *logModel
	name    string
	records map[string]*logModelRecord // by body
	members [logModelMembers]*logModelMember
}

type logModelRecord struct {
	key  string
	n    int // of its key, from 1
	done bool
	held *logModelMember // who has it in hand
	d    *driver.Delivery
}

type logModelMember struct {
	g      *logModelGroup
	r      *logReceiver
	ending []driver.Revocation
	last   map[string]int  // by tenure and key: the last that came fresh
	back   map[string]bool // by tenure and body: released in it
}

// TestLogModel runs the log against the model.
func TestLogModel(t *testing.T) {
	t.Parallel()
	seeds := uint64(2400)
	if poisonAlways { // with -race, under which all takes several times as long
		seeds = 600
	}
	const parts = 8
	for part := range uint64(parts) {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			for seed := part; seed < seeds; seed += parts {
				newLogModel(t, seed).run(seed)
			}
		})
	}
}

func newLogModel(t *testing.T, seed uint64) *logModel {
	m := &logModel{
		t: t, rnd: rand.New(rand.NewPCG(seed, 2)), exact: seed%4 != 0, sent: map[string]int{},
		topic: driver.Topic{Name: "fan", Fanout: true, Groups: []string{"a", "b"}},
	}
	cfg := LogConfig{Partitions: 1 + int(seed%5), Rebalance: time.Hour}
	if !m.exact {
		cfg.MaxState = 20
	}
	m.b = NewLog(cfg)
	for _, name := range []string{"", "a", "b"} {
		s, err := m.b.OpenSender(t.Context(), driver.Target{Topic: m.topic, Group: name})
		if err != nil {
			t.Fatal(err)
		}
		m.sends = append(m.sends, s)
		if name != "" {
			m.group = append(m.group, &logModelGroup{m: m, name: name, records: map[string]*logModelRecord{}})
		}
	}
	return m
}

func (m *logModel) run(seed uint64) {
	for range logModelSteps {
		m.step()
		m.check()
		if m.t.Failed() {
			m.t.Fatalf("seed %d, after:\n%s", seed, strings.Join(m.steps[max(0, len(m.steps)-15):], "\n"))
		}
	}
	m.finish()
	if m.t.Failed() {
		m.t.Fatalf("seed %d, at the end", seed)
	}
}

func (m *logModel) notef(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *logModel) step() {
	g := m.group[m.rnd.IntN(len(m.group))]
	i := m.rnd.IntN(logModelMembers)
	x := g.members[i]
	switch k := m.rnd.IntN(100); {
	case k < 25:
		m.send()
	case x == nil:
		g.members[i] = g.join()
		m.notef("%s: %d joins", g.name, i)
	case k < 60:
		m.notef("%s: %d receives", g.name, i)
		x.receive(1 + m.rnd.IntN(8))
	case k < 82:
		m.notef("%s: %d settles", g.name, i)
		x.settle()
	case k < 86:
		m.notef("%s: %d answers", g.name, i)
		x.answer()
	case k < 90:
		m.notef("%s: %d leaves", g.name, i)
		x.leave(m.rnd.IntN(2) == 0)
		g.members[i] = nil
	case k < 96:
		grace := time.Duration(m.rnd.IntN(2)) * time.Hour
		m.notef("%s: %d is revoked after %v", g.name, i, grace)
		if err := m.b.Faults().RevokeReceiver(x.r, grace); err != nil {
			m.t.Error(err)
		}
	case k < 98:
		m.b.Faults().FailCommit("fan", 1)
		m.notef("%s: %d settles and is refused", g.name, i)
		x.settle()
		m.b.Faults().FailCommit("fan", 0)
	default:
		m.notef("cut")
		m.b.Faults().Disconnect(HardCut)
		m.b.Faults().Reconnect()
	}
	m.hear()
}

// hear reads the revocations of all members.
func (m *logModel) hear() {
	for _, g := range m.group {
		for _, x := range g.members {
			if x != nil {
				x.hear()
			}
		}
	}
}

func (m *logModel) send() {
	to := m.rnd.IntN(len(m.sends))
	var batch []driver.Record
	for range 1 + m.rnd.IntN(5) {
		key := fmt.Sprintf("%d-%d", to, m.rnd.IntN(6))
		m.sent[key]++
		body := fmt.Sprintf("%s/%d", key, m.sent[key])
		batch = append(batch, driver.Record{Key: []byte(key), Body: []byte(body)})
		for i, g := range m.group {
			if to == 0 || to == i+1 {
				g.records[body] = &logModelRecord{key: key, n: m.sent[key]}
			}
		}
	}
	m.notef("send %d to %d", len(batch), to)
	if err := m.sends[to].Send(m.t.Context(), batch); err != nil {
		m.t.Error(err)
	}
}

func (g *logModelGroup) join() *logModelMember {
	r, err := g.m.b.OpenGroupSequence(g.m.t.Context(), driver.Source{Topics: []driver.Topic{g.m.topic}, Group: g.name, Prefetch: 64})
	if err != nil {
		g.m.t.Fatal(err)
	}
	own, ok := r.(*logReceiver)
	if !ok {
		g.m.t.Fatalf("%T", r)
	}
	return &logModelMember{g: g, r: own, last: map[string]int{}, back: map[string]bool{}}
}

// hear notes what the member was told.
func (x *logModelMember) hear() {
	for len(x.r.revocations) > 0 {
		rev := <-x.r.revocations
		if rev.Lost {
			x.forget(rev.Tenure)
		} else {
			x.ending = append(x.ending, rev)
		}
	}
}

// inHand are the deliveries of the member, of one tenure or of all, in the order of their records.
func (x *logModelMember) inHand(tenure uint64) []*logModelRecord {
	var all []*logModelRecord
	for _, rec := range x.g.records {
		if rec.held == x && (tenure == 0 || rec.d.Tenure == tenure) {
			all = append(all, rec)
		}
	}
	slices.SortFunc(all, func(a, b *logModelRecord) int {
		return cmp.Or(strings.Compare(a.key, b.key), a.n-b.n)
	})
	return all
}

// forget ends a tenure, or all: what was in hand comes again, and late answers are refused.
func (x *logModelMember) forget(tenure uint64) {
	for _, rec := range x.inHand(tenure) {
		rec.held = nil
		err := x.r.Settle(x.g.m.t.Context(), []driver.Settlement{{Delivery: rec.d, Verdict: driver.Done}})
		if !errors.Is(err, driver.ErrRevoked) {
			x.g.m.t.Errorf("a settlement after the tenure: %v, want ErrRevoked", err)
		}
	}
}

func (x *logModelMember) receive(n int) {
	t := x.g.m.t
	ds, err := x.r.poll(make([]*driver.Delivery, 0, n))
	if err != nil {
		t.Error(err)
	}
	x.g.m.hear() // a join moves partitions
	for _, d := range ds {
		body := string(d.Body)
		rec := x.g.records[body]
		switch {
		case rec == nil:
			t.Errorf("%s came, which is not for group %s", body, x.g.name)
			continue
		case rec.held != nil:
			t.Errorf("%s came, and somebody has it in hand", body)
		case rec.done && x.g.m.exact:
			t.Errorf("%s came again, though it was finished", body)
		}
		for other, o := range x.g.records {
			if o.key == rec.key && o.held != nil && o.held != x {
				t.Errorf("%s came, and another has %s of its key", body, other)
			}
		}
		at := fmt.Sprint(d.Tenure, " ", rec.key)
		if again := fmt.Sprint(d.Tenure, " ", body); x.back[again] {
			delete(x.back, again)
		} else if rec.n <= x.last[at] {
			t.Errorf("%s came after number %d of its key", body, x.last[at])
		} else {
			x.last[at] = rec.n
		}
		rec.held, rec.d, rec.done = x, d, false
	}
}

func (x *logModelMember) settle() {
	hand := x.inHand(0)
	x.g.m.rnd.Shuffle(len(hand), func(i, j int) { hand[i], hand[j] = hand[j], hand[i] })
	hand = hand[:x.g.m.rnd.IntN(len(hand)+1)]
	batch := make([]driver.Settlement, len(hand))
	bodies := make([]string, len(hand))
	for i, rec := range hand {
		batch[i] = driver.Settlement{Delivery: rec.d}
		bodies[i] = string(rec.d.Body)
		if x.g.m.rnd.IntN(4) > 0 {
			batch[i].Verdict = driver.Done
		}
	}
	err := x.r.Settle(x.g.m.t.Context(), batch)
	for i, rec := range hand {
		switch entry := driver.EntryError(err, i); {
		case errors.Is(entry, errCommit): // it is still in hand
			continue
		case entry != nil:
			x.g.m.t.Errorf("settle %s: %v", bodies[i], entry)
		case batch[i].Verdict == driver.Done:
			rec.done = true
		default:
			x.back[fmt.Sprint(rec.d.Tenure, " ", bodies[i])] = true
		}
		rec.held = nil
	}
}

// answer says that the member is done with a tenure that ends. What it still has of it, it gives up.
func (x *logModelMember) answer() {
	if len(x.ending) == 0 {
		return
	}
	rev := x.ending[0]
	x.ending = x.ending[1:]
	rev.Done()
	x.forget(rev.Tenure)
}

func (x *logModelMember) leave(crash bool) {
	var err error
	if crash {
		err = x.g.m.b.Faults().Crash(x.r)
	} else {
		err = x.r.Close(x.g.m.t.Context())
	}
	if err != nil {
		x.g.m.t.Error(err)
	}
	x.forget(0)
}

// check compares the depths.
func (m *logModel) check() {
	for _, g := range m.group {
		var ready, inHand int64
		for _, rec := range g.records {
			switch {
			case rec.held != nil:
				inHand++
			case !rec.done:
				ready++
			}
		}
		d, err := m.b.Depth(m.t.Context(), driver.Source{Topics: []driver.Topic{m.topic}, Group: g.name})
		if err != nil || d.InFlight != inHand || d.Ready < ready || m.exact && d.Ready != ready {
			m.t.Errorf("group %s: depth %+v, %v; want %d ready and %d in flight", g.name, d, err, ready, inHand)
		}
	}
}

// finish drains each group, and wants all finished and committed.
func (m *logModel) finish() {
	for _, g := range m.group {
		for _, x := range g.members {
			if x != nil {
				x.leave(true)
			}
		}
		m.hear()
		x := g.join()
		g.members = [logModelMembers]*logModelMember{x}
		for {
			x.receive(50)
			hand := x.inHand(0)
			if len(hand) == 0 {
				break
			}
			var batch []driver.Settlement
			for _, rec := range hand {
				batch = append(batch, driver.Settlement{Delivery: rec.d, Verdict: driver.Done})
				rec.done, rec.held = true, nil
			}
			if err := x.r.Settle(m.t.Context(), batch); err != nil {
				m.t.Error(err)
			}
		}
		for body, rec := range g.records {
			if !rec.done {
				m.t.Errorf("group %s: %s was lost", g.name, body)
			}
		}
		for _, p := range m.b.Positions("fan", g.name) {
			if p.Commit != p.End || p.State != "" {
				m.t.Errorf("group %s: %+v, with all finished", g.name, p)
			}
		}
	}
	if err := m.b.Close(m.t.Context()); err != nil {
		m.t.Error(err)
	}
}
