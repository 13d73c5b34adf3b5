package drivertest

import (
	"bytes"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

func acceptCases() []Case {
	return []Case{
		{
			Name: "accept/whole",
			Sentence: "What is accepted arrives whole, and what is not is unchanged; the buffer that the caller has instead of the " +
				"body is empty and its own.",
			Needs: []Ability{Accept}, kinds: shared, Run: acceptWhole,
		},
		{
			Name: "accept/copy",
			Sentence: "A body that is accepted alone arrives whole, with an id of its own, and the caller may write over it at " +
				"once.",
			Needs: []Ability{Accept}, kinds: shared, Run: acceptCopy,
		},
		{
			Name:     "accept/closed",
			Sentence: "After Sender.Close nothing is accepted.",
			Needs:    []Ability{Accept}, kinds: shared, Run: acceptClosed,
		},
	}
}

func (s *sender) accepter() driver.Accepter {
	a, ok := s.s.(driver.Accepter)
	if !ok {
		s.t.Fatalf("a sender of this broker is no Accepter, though another was")
	}
	return a
}

// accept offers a record, whose buffer is *buf, and reports whether it was accepted. *buf is the caller's buffer afterwards.
func (s *sender) accept(rec driver.Record, buf *[]byte) bool {
	t, a := s.t, s.accepter()
	one := cloneRecords([]driver.Record{rec})
	*buf = append((*buf)[:0], rec.Body...)
	one[0].Body = *buf
	accepted := false
	if !t.until(t.soon(), "Accept", t.h.Wait, func() { accepted = a.Accept(&one[0]) }) {
		t.FailNow()
	}
	*buf = one[0].Body
	if accepted {
		if len(*buf) != 0 {
			t.Errorf("Accept left a body of %d bytes", len(*buf))
		}
		one[0].Body = rec.Body
	}
	if !sameRecord(&rec, &one[0]) {
		t.Errorf("Accept changed record %s, of which it reports %v", rec.ID, accepted)
	}
	one[0].Body = (*buf)[:cap(*buf)]
	poison(one)
	return accepted
}

func acceptWhole(t *T) {
	l := t.line()
	r, s := l.receiver(), l.sender()
	var buf []byte
	for round := range 3 { // later records come into buffers that were used before
		records := slices.Concat(bodies(round), t.batch(3))
		if round == 0 {
			records = append(records, oddRecords(t)...)
		}
		for _, rec := range records {
			if !s.accept(rec, &buf) {
				s.send(rec)
			}
		}
		r.done(r.expect(records...)...)
	}
}

func acceptCopy(t *T) {
	l := t.line()
	r, s := l.receiver(), l.sender()
	ids := make(map[string]bool)
	for round := range 3 {
		sent := make(map[string]bool)
		for _, rec := range bodies(round) {
			buf := bytes.Clone(rec.Body)
			if s.acceptCopy(buf) {
				sent[string(rec.Body)] = true
			}
			fill(buf, "#")
		}
		ds := r.take(len(sent))
		for _, d := range ds {
			id := d.ID.String()
			switch rec := (driver.Record{ID: d.ID, Body: d.Body, ContentType: copied, Control: driver.Control{Published: copiedAt}}); {
			case !sent[string(d.Body)]:
				t.Errorf("%d bytes came that were not accepted, or came twice", len(d.Body))
			case ids[id] || d.ID.IsZero():
				t.Errorf("the id %q is no id of its own", id)
			default:
				if wrong := difference(&rec, d); wrong != "" {
					t.Errorf("%s arrived with %s", id, wrong)
				}
			}
			delete(sent, string(d.Body))
			ids[id] = true
		}
		r.done(ds...)
	}
}

const (
	copied   = "text/plain"
	copiedAt = driver.Stamp(1_700_000_000_000_000_000)
)

// acceptCopy offers a body and reports whether it was accepted.
func (s *sender) acceptCopy(body []byte) bool {
	t, a := s.t, s.accepter()
	before, accepted := bytes.Clone(body), false
	if !t.until(t.soon(), "AcceptCopy", t.h.Wait, func() { accepted = a.AcceptCopy(body, copied, copiedAt) }) {
		t.FailNow()
	}
	if !bytes.Equal(body, before) {
		t.Errorf("AcceptCopy changed a body of %d bytes, of which it reports %v", len(body), accepted)
	}
	return accepted
}

// bodies are records of nothing but a body, and some a key, which is what is accepted if anything is. Another round has the keys
// elsewhere, so that a buffer with one is used again for a record without, and the other way round.
func bodies(round int) []driver.Record {
	rs := make([]driver.Record, 8)
	for i := range rs {
		rs[i].ID = driver.ID{Prefix: uint64(round) + 1, Seq: uint64(i) + 1}
		rs[i].Body = bytes.Repeat([]byte{byte(round<<4 + i)}, 1<<(2*i)) // up to 16 KiB
		if (i+round)%2 == 0 {
			rs[i].Key = bytes.Repeat([]byte{'k', '0' + byte(i)}, 1+i*i) // up to 100 bytes
		}
	}
	return rs
}

func acceptClosed(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	s.close()
	var buf []byte
	if s.accept(bodies(0)[0], &buf) {
		t.Errorf("a record was accepted after Close")
	}
	if s.acceptCopy(bodies(0)[0].Body) {
		t.Errorf("a body was accepted after Close")
	}
	r.none()
}
