package mem_test

import (
	"slices"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// lose ends the tenure of a receiver in the model.
func (m *modelRun) lose(q, r int) {
	mq := m.queues[q]
	for _, rec := range mq.hand[r] {
		mq.back(rec)
		m.lateLater(q, r, rec)
	}
	mq.hand[r] = nil
}

// A lostDelivery may still be read by its handler.
type lostDelivery struct {
	d    *driver.Delivery
	body string
}

// lateLater keeps a settlement of an ended tenure, by the delivery itself or by a copy of it.
func (m *modelRun) lateLater(q, r int, rec *modelRecord) {
	d := rec.d
	m.lost = append(m.lost, lostDelivery{d, rec.body})
	if m.rnd.IntN(2) == 0 {
		kept := rec.kept
		d = &kept
	}
	m.late = append(m.late, driver.Settlement{Delivery: d, Verdict: driver.Verdict(m.rnd.IntN(2))})
	m.lateAt = append(m.lateAt, [2]int{q, r})
}

func (m *modelRun) settleLate() {
	if len(m.late) == 0 {
		return
	}
	i := m.rnd.IntN(len(m.late))
	m.notef("settle late")
	q, r := m.lateAt[i][0], m.lateAt[i][1]
	wantErr(m.t, "late settlement", m.recv[q][r].Settle(m.t.Context(), m.late[i:i+1]), driver.ErrRevoked)
	m.late = slices.Delete(m.late, i, i+1)
	m.lateAt = slices.Delete(m.lateAt, i, i+1)
}

func (m *modelRun) pass(d time.Duration) {
	m.notef("pass %v", d)
	time.Sleep(d)
	synctest.Wait()
	for q, mq := range m.queues {
		before := slices.Clone(mq.hand)
		for r := range before {
			before[r] = slices.Clone(before[r])
		}
		mq.pass(time.Now(), m.cfg.Lease)
		for r, hand := range before {
			for _, rec := range hand {
				if !slices.Contains(mq.hand[r], rec) {
					m.lateLater(q, r, rec)
				}
			}
		}
	}
}

func (m *modelRun) reopen(q, r int) {
	m.notef("close %d of %s", r, m.queues[q].group)
	m.lose(q, r)
	if err := m.recv[q][r].Close(m.t.Context()); err != nil {
		m.t.Error(err)
	}
	m.recv[q][r] = receiver(m.t, m.b, m.queues[q].group, m.topic)
}

func (m *modelRun) cut() {
	m.notef("cut")
	m.b.Faults().Disconnect(mem.HardCut)
	m.b.Faults().Reconnect()
	for q := range m.queues {
		for r := range m.recv[q] {
			m.lose(q, r)
			<-m.recv[q][r].(driver.Revoker).Revocations()
		}
	}
}

// check compares the depth, and what receivers hold.
func (m *modelRun) check() {
	for _, mq := range m.queues {
		d, err := m.b.Depth(m.t.Context(), driver.Source{Topics: []driver.Topic{m.topic}, Group: mq.group})
		if err != nil {
			m.t.Error(err)
		}
		inHand := 0
		for _, hand := range mq.hand {
			inHand += len(hand)
			for _, rec := range hand {
				if string(rec.d.Body) != rec.body {
					m.t.Errorf("body in hand: got %q, want %q", rec.d.Body, rec.body)
				}
			}
		}
		got := [3]int64{d.Ready, d.Held, d.InFlight}
		want(m.t, "depth of "+mq.group, got, [3]int64{int64(len(mq.ready)), int64(len(mq.held)), int64(inHand)})
	}
}

// finish drains both and wants every record to be done once.
func (m *modelRun) finish() {
	for q := range m.queues {
		for r := range m.recv[q] {
			m.reopen(q, r)
		}
	}
	m.pass(time.Hour)
	for q, mq := range m.queues {
		for len(mq.ready) > 0 {
			m.receive(q, 0)
			ds := mq.hand[0]
			mq.hand[0] = nil
			for _, rec := range ds {
				settle(m.t, m.recv[q][0], driver.Done, rec.d)
				mq.done = append(mq.done, rec.body)
			}
		}
		m.check()
		for _, l := range m.lost {
			if string(l.d.Body) != l.body {
				m.t.Errorf("body of a lost delivery: got %.20q, want %.20q", l.d.Body, l.body)
			}
		}
		slices.Sort(mq.done)
		slices.Sort(mq.sent)
		if !slices.Equal(mq.done, mq.sent) {
			m.t.Errorf("%s: %d sent, %d done", mq.group, len(mq.sent), len(mq.done))
		}
	}
}
