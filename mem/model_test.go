package mem_test

import (
	"cmp"
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

// A modelRecord is what the model knows of a record in one queue.
type modelRecord struct {
	body  string
	seq   int // its place in the publish order, once it was ready
	count int
	due   time.Time
	order int // of becoming held
	end   time.Time
	d     *driver.Delivery
	kept  driver.Delivery // a copy, for settling late
}

// A modelQueue is a queue as it should be. It knows nothing of locks, rings or memory.
type modelQueue struct {
	group string
	ready []*modelRecord
	held  []*modelRecord
	hand  [][]*modelRecord // by receiver
	seq   int
	done  []string
	sent  []string
}

func (q *modelQueue) push(r *modelRecord) {
	q.seq++
	r.seq = q.seq
	q.ready = append(q.ready, r)
}

func (q *modelQueue) back(r *modelRecord) {
	q.ready = append(q.ready, r)
	slices.SortFunc(q.ready, func(a, b *modelRecord) int { return cmp.Compare(a.seq, b.seq) })
}

// pass lets time pass: what is due is ready, and what is leased for too long too.
func (q *modelQueue) pass(now time.Time, lease time.Duration) {
	slices.SortFunc(q.held, func(a, b *modelRecord) int {
		return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.order, b.order))
	})
	for len(q.held) > 0 && !q.held[0].due.After(now) {
		r := q.held[0]
		q.held = q.held[1:]
		if r.seq == 0 {
			q.push(r)
		} else {
			q.back(r)
		}
	}
	for i := range q.hand {
		q.hand[i] = slices.DeleteFunc(q.hand[i], func(r *modelRecord) bool {
			late := lease > 0 && !r.end.After(now)
			if late {
				q.back(r)
			}
			return late
		})
	}
}

// A modelRun drives a broker and the model with the same steps.
type modelRun struct {
	t      *testing.T
	rnd    *rand.Rand
	b      *mem.Broker
	cfg    mem.Config
	topic  driver.Topic
	all    driver.Sender
	only   []driver.Sender     // by queue
	recv   [][]driver.Receiver // by queue
	queues []*modelQueue
	late   []driver.Settlement // of ended tenures, by queue and receiver below
	lateAt [][2]int
	lost   []lostDelivery
	n      int
	steps  []string
}

const modelBound = 20

func TestBrokerAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { newModelRun(t, seed).run(400) })
		})
	}
}

func newModelRun(t *testing.T, seed uint64) *modelRun {
	m := &modelRun{t: t, rnd: rand.New(rand.NewPCG(seed, 1)), topic: fanout("fan", "a", "b")}
	m.cfg = mem.Config{MaxMessages: modelBound, Poison: seed%2 == 0}
	if seed%3 == 0 {
		m.cfg.Lease = time.Minute
	}
	m.b = open(t, m.cfg)
	m.all = sender(t, m.b, driver.Target{Topic: m.topic})
	for i, g := range m.topic.Groups {
		m.only = append(m.only, sender(t, m.b, driver.Target{Topic: m.topic, Group: g}))
		m.queues = append(m.queues, &modelQueue{group: g, hand: make([][]*modelRecord, 3)})
		m.recv = append(m.recv, nil)
		for range m.queues[i].hand {
			m.recv[i] = append(m.recv[i], receiver(t, m.b, g, m.topic))
		}
	}
	return m
}

func (m *modelRun) run(steps int) {
	for range steps {
		m.step()
		m.check()
		if m.t.Failed() {
			m.t.Fatalf("after:\n%s", strings.Join(m.steps[max(0, len(m.steps)-12):], "\n"))
		}
	}
	m.finish()
}

func (m *modelRun) notef(format string, args ...any) {
	m.steps = append(m.steps, fmt.Sprintf(format, args...))
}

func (m *modelRun) step() {
	q := m.rnd.IntN(len(m.queues))
	r := m.rnd.IntN(len(m.recv[q]))
	switch k := m.rnd.IntN(100); {
	case k < 25:
		m.send(q)
	case k < 35:
		m.sendAt(q)
	case k < 60:
		m.receive(q, r)
	case k < 82:
		m.settle(q, r)
	case k < 88:
		m.settleLate()
	case k < 93:
		m.pass(time.Duration(m.rnd.IntN(40)) * time.Second)
	case k < 95:
		m.reopen(q, r)
	case k < 98:
		m.notef("revoke %d of %s", r, m.queues[q].group)
		m.lose(q, r)
		if err := m.b.Faults().RevokeReceiver(m.recv[q][r], 0); err != nil {
			m.t.Error(err)
		}
		<-m.recv[q][r].(driver.Revoker).Revocations()
	default:
		m.cut()
	}
}

// targets are the queues of a send: one, or all.
func (m *modelRun) targets(q int) ([]*modelQueue, driver.Sender) {
	if m.rnd.IntN(2) == 0 {
		return m.queues, m.all
	}
	return m.queues[q : q+1], m.only[q]
}

func (m *modelRun) record() driver.Record {
	m.n++
	size := []int{4, 4, 60, 5000}[m.rnd.IntN(4)]
	return driver.Record{Body: []byte(fmt.Sprintf("%0*d", size, m.n))}
}

func (m *modelRun) send(q int) {
	queues, s := m.targets(q)
	var batch []driver.Record
	for range 1 + m.rnd.IntN(4) {
		for _, q := range queues {
			if len(q.ready)+len(batch) >= modelBound {
				return // it would wait
			}
		}
		batch = append(batch, m.record())
	}
	m.notef("send %d to %d queues", len(batch), len(queues))
	if err := s.Send(m.t.Context(), batch); err != nil {
		m.t.Error(err)
	}
	for _, q := range queues {
		for i := range batch {
			q.push(&modelRecord{body: string(batch[i].Body)})
			q.sent = append(q.sent, string(batch[i].Body))
		}
	}
}

func (m *modelRun) sendAt(q int) {
	queues, s := m.targets(q)
	for _, q := range queues {
		if len(q.held)+max(0, len(q.ready)-modelBound) >= modelBound {
			return
		}
	}
	due := time.Now().Add(time.Duration(m.rnd.IntN(60)-5) * time.Second)
	r := m.record()
	r.Due = driver.StampOf(due)
	m.notef("send to %d queues due in %v", len(queues), time.Until(due))
	if err := s.(driver.Holder).SendAt(m.t.Context(), []driver.Record{r}); err != nil {
		m.t.Error(err)
	}
	for _, q := range queues {
		q.sent = append(q.sent, string(r.Body))
		q.held = append(q.held, &modelRecord{body: string(r.Body), due: due, order: m.n})
		q.pass(time.Now(), 0)
	}
}

func (m *modelRun) receive(q, r int) {
	mq := m.queues[q]
	if len(mq.ready) == 0 {
		return // it would wait
	}
	n := 1 + m.rnd.IntN(8)
	m.notef("receive %d by %d of %s", n, r, mq.group)
	ds := take(m.t, m.recv[q][r], n)
	want(m.t, "received", len(ds), min(n, len(mq.ready)))
	for _, d := range ds {
		rec := mq.ready[0]
		mq.ready = mq.ready[1:]
		rec.count++
		want(m.t, "record", fmt.Sprint(string(d.Body), " ", d.Delivered), fmt.Sprint(rec.body, " ", rec.count))
		rec.d, rec.kept = d, *d
		rec.end = time.Now().Add(m.cfg.Lease)
		mq.hand[r] = append(mq.hand[r], rec)
	}
}

func (m *modelRun) settle(q, r int) {
	mq := m.queues[q]
	m.rnd.Shuffle(len(mq.hand[r]), func(i, j int) { mq.hand[r][i], mq.hand[r][j] = mq.hand[r][j], mq.hand[r][i] })
	var batch []driver.Settlement
	for range m.rnd.IntN(len(mq.hand[r]) + 1) {
		rec := mq.hand[r][0]
		mq.hand[r] = mq.hand[r][1:]
		s := driver.Settlement{Delivery: rec.d, Verdict: driver.Verdict(m.rnd.IntN(2))}
		switch {
		case s.Verdict == driver.Done:
			mq.done = append(mq.done, rec.body)
		case m.rnd.IntN(3) == 0:
			rec.count--
			s.Delay = time.Duration(1+m.rnd.IntN(30)) * time.Second
			m.n++
			rec.due, rec.order = time.Now().Add(s.Delay), m.n
			mq.held = append(mq.held, rec)
		default:
			rec.count--
			mq.back(rec)
		}
		batch = append(batch, s)
	}
	m.notef("settle %d by %d of %s", len(batch), r, mq.group)
	if err := m.recv[q][r].Settle(m.t.Context(), batch); err != nil {
		m.t.Error(err)
	}
}
