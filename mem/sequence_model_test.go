package mem_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A seqRecord is what the model knows of a record in a sequence.
type seqRecord struct {
	key  string
	body string
	seq  int // its place in the publish order
	hand int // the receiver that has it, or -1
	held time.Time
	end  time.Time
	left int // how often it was handed out, less releases
	d    *driver.Delivery
	kept driver.Delivery // a copy, for settling late
}

// A seqModel is a sequence as it should be: a list of records that are not done. It says what a receiver may get, and leaves
// the choice among keys to the broker.
type seqModel struct {
	open []*seqRecord
	seq  int
	most int
}

// blocks reports why a receiver may not have a record now, "" if it may.
func (m *seqModel) blocks(r int, rec *seqRecord) string {
	switch {
	case rec.hand >= 0:
		return "it is in hand"
	case !rec.held.IsZero():
		return "it is not due"
	case rec.key == "":
		return ""
	}
	inHand := 0
	for _, o := range m.open {
		switch {
		case o.key != rec.key || o == rec:
		case o.hand >= 0 && o.hand != r:
			return fmt.Sprintf("%s of its key is in the hand of receiver %d", o.body, o.hand)
		case o.hand == r:
			inHand++
		case !o.held.IsZero() && o.seq > 0:
			return fmt.Sprintf("%s of its key was released and is not due", o.body)
		case o.held.IsZero() && o.seq < rec.seq:
			return fmt.Sprintf("%s of its key comes first", o.body)
		}
	}
	if inHand >= m.most {
		return "its receiver has enough of its key"
	}
	return ""
}

// may reports whether there is anything for a receiver.
func (m *seqModel) may(r int) bool {
	return slices.ContainsFunc(m.open, func(rec *seqRecord) bool { return m.blocks(r, rec) == "" })
}

// pass lets time pass.
func (m *seqModel) pass(now time.Time, lease time.Duration, lost func(*seqRecord)) {
	due := slices.Clone(m.open)
	slices.SortStableFunc(due, func(a, b *seqRecord) int { return a.held.Compare(b.held) })
	for _, rec := range due {
		if !rec.held.IsZero() && !rec.held.After(now) {
			rec.held = time.Time{}
			if rec.seq == 0 {
				m.place(rec)
			}
		}
		if lease > 0 && rec.hand >= 0 && !rec.end.After(now) {
			lost(rec)
			rec.hand = -1
		}
	}
}

func (m *seqModel) place(rec *seqRecord) {
	m.seq++
	rec.seq = m.seq
}

func (m *seqModel) inHand(r int) []*seqRecord {
	return slices.DeleteFunc(slices.Clone(m.open), func(rec *seqRecord) bool { return rec.hand != r })
}

// A seqRun drives a broker and checks each of its steps with the model.
type seqRun struct {
	t     *testing.T
	rnd   *rand.Rand
	b     *mem.Broker
	cfg   mem.Config
	topic driver.Topic
	group string
	s     driver.Sender
	recv  []driver.Receiver
	late  []driver.Settlement // of ended tenures
	of    []int               // the receiver of each
	model seqModel
	n     int
	steps []string
}

const seqReceivers = 3

// Random steps over several receivers, against a list of records. Each seed is a run of its own.
func TestSequenceAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	const runs, seeds, steps = 20, 100, 60
	for run := range uint64(runs) {
		t.Run(fmt.Sprint(run), func(t *testing.T) {
			t.Parallel()
			for i := range uint64(seeds) {
				synctest.Test(t, func(t *testing.T) { newSeqRun(t, run*seeds+i).run(steps) })
				if t.Failed() {
					return
				}
			}
		})
	}
}

func newSeqRun(t *testing.T, seed uint64) *seqRun {
	m := &seqRun{t: t, rnd: rand.New(rand.NewPCG(seed, 7)), topic: queueTopic("orders")}
	m.cfg = mem.Config{Poison: seed%2 == 0}
	if seed%3 == 0 {
		m.cfg.Lease = time.Minute
	}
	m.topic.Keyed = true
	if seed%5 == 0 {
		m.topic, m.group = fanout("orders", "g"), "g"
	}
	m.notef("seed %d", seed)
	m.b = open(t, m.cfg)
	m.s = sender(t, m.b, driver.Target{Topic: m.topic})
	m.model.most = 64
	for range seqReceivers {
		m.recv = append(m.recv, owner(t, m.b, m.group, m.topic))
	}
	return m
}

// owner opens a receiver that owns keys.
func owner(tb testing.TB, b *mem.Broker, group string, topics ...driver.Topic) driver.Receiver {
	tb.Helper()
	s := driver.Source{Topics: topics, Group: group, Prefetch: 64}
	openIt := b.OpenSequence
	if group != "" {
		openIt = b.OpenGroupSequence
	}
	r, err := openIt(tb.Context(), s)
	if err != nil {
		tb.Fatalf("open sequence: %v", err)
	}
	return r
}

func (m *seqRun) notef(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *seqRun) run(steps int) {
	for range steps {
		m.step()
		m.check()
		if m.t.Failed() {
			m.t.Fatalf("after:\n%s", strings.Join(m.steps, "\n"))
		}
	}
	m.finish()
	if m.t.Failed() {
		m.t.Fatalf("after:\n%s", strings.Join(m.steps, "\n"))
	}
}

func (m *seqRun) step() {
	r := m.rnd.IntN(len(m.recv))
	switch k := m.rnd.IntN(100); {
	case k < 22:
		m.send()
	case k < 26:
		m.sendAt()
	case k < 55:
		m.receive(r, 1+m.rnd.IntN(8))
	case k < 80:
		m.settle(r)
	case k < 84:
		m.settleLate()
	case k < 88:
		m.pass(time.Duration(m.rnd.IntN(40)) * time.Second)
	case k < 92:
		m.reopen(r)
	case k < 95:
		m.revoke(r)
	case k < 97:
		m.idle(r)
	default:
		m.cut()
	}
}

func (m *seqRun) record() driver.Record {
	m.n++
	rec := driver.Record{Body: fmt.Appendf(nil, "%0*d", []int{3, 3, 60, 5000}[m.rnd.IntN(4)], m.n)}
	if k := m.rnd.IntN(7); k > 0 {
		rec.Key = fmt.Appendf(nil, "k%d", k)
	}
	return rec
}

func (m *seqRun) send() {
	batch := make([]driver.Record, 1+m.rnd.IntN(6))
	for i := range batch {
		batch[i] = m.record()
		rec := &seqRecord{key: string(batch[i].Key), body: string(batch[i].Body), hand: -1}
		m.model.place(rec)
		m.model.open = append(m.model.open, rec)
	}
	m.notef("send %d", len(batch))
	if err := m.s.Send(m.t.Context(), batch); err != nil {
		m.t.Error(err)
	}
}

func (m *seqRun) sendAt() {
	rec := m.record()
	m.n++ // no two are due together
	due := time.Now().Add(time.Duration(1+m.rnd.IntN(60))*time.Second + time.Duration(m.n))
	rec.Due = driver.StampOf(due)
	m.notef("send due in %v", time.Until(due))
	if err := m.s.(driver.Holder).SendAt(m.t.Context(), []driver.Record{rec}); err != nil {
		m.t.Error(err)
	}
	m.model.open = append(m.model.open, &seqRecord{key: string(rec.Key), body: string(rec.Body), hand: -1, held: due})
}

// receive takes up to n, each of which the model must allow, and all of which it allows if there is room.
func (m *seqRun) receive(r, n int) {
	if !m.model.may(r) {
		return // it would wait
	}
	ds := take(m.t, m.recv[r], n)
	m.notef("%d receives %d of at most %d: %.200v", r, len(ds), n, shorts(ds))
	for _, d := range ds {
		i := slices.IndexFunc(m.model.open, func(rec *seqRecord) bool { return rec.body == string(d.Body) })
		if i < 0 {
			m.t.Errorf("one of %v came, which is done or was never sent", shorts(ds))
			return
		}
		rec := m.model.open[i]
		if why := m.model.blocks(r, rec); why != "" {
			m.t.Errorf("receiver %d got %v, though %.200s", r, shorts(ds), why)
		}
		rec.left++
		want(m.t, "key and count", fmt.Sprint(string(d.Key), " ", d.Delivered), fmt.Sprint(rec.key, " ", rec.left))
		rec.d, rec.kept, rec.hand = d, *d, r
		rec.end = time.Now().Add(m.cfg.Lease)
	}
	if len(ds) < n && m.model.may(r) {
		m.t.Errorf("receiver %d got %d of at most %d, and could have more", r, len(ds), n)
	}
}

func shorts(ds []*driver.Delivery) []string {
	var out []string
	for _, d := range ds {
		out = append(out, fmt.Sprintf("%s/%s", d.Key, d.Body[max(0, len(d.Body)-3):]))
	}
	return out
}

// idle wants nothing to come where the model allows nothing.
func (m *seqRun) idle(r int) {
	if m.model.may(r) {
		return
	}
	m.notef("%d is idle", r)
	ctx, cancel := context.WithTimeout(m.t.Context(), time.Nanosecond)
	defer cancel()
	if ds, err := m.recv[r].Receive(ctx, make([]*driver.Delivery, 0, 4)); len(ds) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		m.t.Errorf("receiver %d got %v, %v; want nothing", r, shorts(ds), err)
	}
	m.pass(0)
}

func (m *seqRun) settle(r int) {
	hand := m.model.inHand(r)
	m.rnd.Shuffle(len(hand), func(i, j int) { hand[i], hand[j] = hand[j], hand[i] })
	var batch []driver.Settlement
	for _, rec := range hand[:m.rnd.IntN(len(hand)+1)] {
		s := driver.Settlement{Delivery: rec.d, Verdict: driver.Done}
		rec.hand = -1
		if m.rnd.IntN(3) == 0 {
			s.Verdict = driver.Release
			rec.left--
			if m.rnd.IntN(3) == 0 {
				m.n++
				s.Delay = time.Duration(1+m.rnd.IntN(30))*time.Second + time.Duration(m.n)
				rec.held = time.Now().Add(s.Delay)
			}
		} else {
			m.model.open = slices.DeleteFunc(m.model.open, func(o *seqRecord) bool { return o == rec })
		}
		m.notef("%d settles %s/%s: %v %v", r, rec.key, rec.body[max(0, len(rec.body)-3):], s.Verdict, s.Delay)
		batch = append(batch, s)
	}
	if err := m.recv[r].Settle(m.t.Context(), batch); err != nil {
		m.t.Error(err)
	}
}

// lose notes that a receiver's tenure of a record ended.
func (m *seqRun) lose(rec *seqRecord) {
	d := rec.d
	if m.rnd.IntN(2) == 0 {
		kept := rec.kept
		d = &kept
	}
	m.late = append(m.late, driver.Settlement{Delivery: d, Verdict: driver.Verdict(m.rnd.IntN(2))})
	m.of = append(m.of, rec.hand)
	rec.hand = -1
}

func (m *seqRun) loseAll(r int) {
	for _, rec := range m.model.inHand(r) {
		m.lose(rec)
	}
}

func (m *seqRun) settleLate() {
	if len(m.late) == 0 {
		return
	}
	i := m.rnd.IntN(len(m.late))
	m.notef("settle late")
	wantErr(m.t, "late settlement", m.recv[m.of[i]].Settle(m.t.Context(), m.late[i:i+1]), driver.ErrRevoked)
	m.late, m.of = slices.Delete(m.late, i, i+1), slices.Delete(m.of, i, i+1)
}

func (m *seqRun) pass(d time.Duration) {
	m.notef("pass %v", d)
	time.Sleep(d)
	synctest.Wait()
	m.model.pass(time.Now(), m.cfg.Lease, m.lose)
}

func (m *seqRun) reopen(r int) {
	m.notef("%d closes", r)
	m.loseAll(r)
	if err := m.recv[r].Close(m.t.Context()); err != nil {
		m.t.Error(err)
	}
	m.recv[r] = owner(m.t, m.b, m.group, m.topic)
}

// revoke ends a tenure at once or after a grace in which something is settled.
func (m *seqRun) revoke(r int) {
	grace := time.Duration(m.rnd.IntN(2)) * time.Hour
	m.notef("%d is revoked within %v", r, grace)
	if err := m.b.Faults().RevokeReceiver(m.recv[r], grace); err != nil {
		m.t.Error(err)
	}
	rev := <-m.recv[r].(driver.Revoker).Revocations()
	if grace > 0 {
		m.settle(r)
		other := (r + 1) % len(m.recv)
		m.receive(other, 3)
		rev.Done()
	}
	m.loseAll(r)
}

func (m *seqRun) cut() {
	m.notef("cut")
	m.b.Faults().Disconnect(mem.HardCut)
	m.b.Faults().Reconnect()
	for r := range m.recv {
		m.loseAll(r)
		<-m.recv[r].(driver.Revoker).Revocations()
	}
}

// check compares the depth, and what receivers hold.
func (m *seqRun) check() {
	d, err := m.b.Depth(m.t.Context(), driver.Source{Topics: []driver.Topic{m.topic}, Group: m.group})
	if err != nil {
		m.t.Error(err)
	}
	var ready, held, inHand int64
	for _, rec := range m.model.open {
		switch {
		case rec.hand >= 0:
			inHand++
			if string(rec.d.Body) != rec.body || string(rec.d.Key) != rec.key {
				m.t.Errorf("in hand: got %.20q of %q, want %.20q of %q", rec.d.Body, rec.d.Key, rec.body, rec.key)
			}
		case !rec.held.IsZero():
			held++
		default:
			ready++
		}
	}
	want(m.t, "depth", [3]int64{d.Ready, d.Held, d.InFlight}, [3]int64{ready, held, inHand})
}

// finish gives all up, and wants all that is left from one receiver.
func (m *seqRun) finish() {
	for r := range m.recv {
		m.reopen(r)
	}
	m.pass(time.Hour)
	for len(m.model.open) > 0 && !m.t.Failed() {
		m.receive(0, 16)
		hand := m.model.inHand(0)
		if len(hand) == 0 {
			m.t.Errorf("%d records are left, and nothing comes", len(m.model.open))
		}
		for _, rec := range hand {
			settle(m.t, m.recv[0], driver.Done, rec.d)
			m.model.open = slices.DeleteFunc(m.model.open, func(o *seqRecord) bool { return o == rec })
		}
		m.check()
	}
}
