package drivertest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func sendCases() []Case {
	return []Case{
		{
			Name: "send/round-trip",
			Sentence: "What is sent arrives whole: id, key, body and header values of any bytes, headers in their order and " +
				"repeated, content type, and control data.",
			kinds: kinds, Run: roundTrip,
		},
		{
			Name:     "send/sizes",
			Sentence: "Records of 0 bytes, of 1 byte and of exactly the limit arrive whole.",
			kinds:    kinds, Run: recordSizes,
		},
		{
			Name:     "send/too-large",
			Sentence: "A record of one byte more than the limit is ErrTooLarge and ErrNotSent, and never arrives.",
			Needs:    []Ability{Sized}, kinds: kinds, Run: tooLarge,
		},
		{
			Name: "send/bad-entry",
			Sentence: "One record that cannot be sent fails alone in its batch, with the later ones of its key, which are ErrNotSent; " +
				"all others arrive.",
			Needs: []Ability{Sized}, kinds: kinds, Run: badEntry,
		},
		{
			Name:     "send/batch",
			Sentence: "Every record of a batch arrives, once, whether the batch holds one record or as many as the limits allow.",
			kinds:    kinds, Run: sendBatches,
		},
		{
			Name:     "send/bytes",
			Sentence: "The batch and its bytes are the caller's again when Send returns: overwriting them changes nothing that arrives.",
			kinds:    kinds, Run: bytesReturned,
		},
		{
			Name:     "send/due-ignored",
			Sentence: "Send does not look at a record's due time: only SendAt does.",
			kinds:    kinds, Run: dueIgnored,
		},
		{
			Name:     "send/unique",
			Sentence: "A record marked Unique is a copy of its own: de-duplication by id does not swallow it, nor a second one.",
			kinds:    settled, Run: uniqueCopies,
		},
		{
			Name:     "send/limits",
			Sentence: "Limits are constant and agree with one another.",
			Run:      limitsAgree,
		},
	}
}

func fullControl() driver.Control {
	at := stampOf
	return driver.Control{
		Attempt: 4, Published: at(1), Defers: 7, Deferred: 90 * time.Minute, Redriven: true,
		Hold: &driver.HoldData{Topic: "where;it=goes", Group: "gr\u00fcn", Fanout: true, Due: at(2), Hop: at(3)},
		Failure: &driver.Failure{
			Topic: "where & when", Group: "g", Reason: "exhausted", First: "first: 100 %\r\n\x00\u2028 ",
			Last: strings.Repeat("l\u00e4st;", 170), FirstAt: at(4), LastAt: at(5), Attempts: 3, Delivered: 9,
			Redrives: "FIRST.SECOND",
		},
	}
}

// oddRecords are records of every shape that the seam allows.
func oddRecords(t *T) []driver.Record {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	many := make([]driver.Header, 64)
	for i := range many {
		many[i] = driver.Header{Key: fmt.Sprintf("h%02d", i), Value: strings.Repeat("v", i)}
	}
	rs := t.batch(9)
	rs[0].Body, rs[0].Headers = nil, nil
	rs[1].ID = driver.ID{Prefix: 0x0123456789abcdef, Seq: 42}
	rs[1].Body = all
	rs[2].ID = driver.ID{Text: "id with spaces, \u00fcml\u00e4ute, \u4e16\u754c; a=b/c?d%20"}
	rs[2].Key = []byte("\x00\xffkey\r\n")
	rs[3].Headers = []driver.Header{
		{Key: "b", Value: "2"}, {Key: "a", Value: "1"}, {Key: "b", Value: "3"}, {Key: "b", Value: "2"}, {Key: "B", Value: "4"},
	}
	rs[4].Headers = []driver.Header{
		{Key: "empty", Value: ""},
		{Key: "control", Value: "\x00\x01\t\r\n\x7f"},
		{Key: "\u00fcnicode \u4e16", Value: "\u754c \U0001f6f6"},
		{Key: "a:b=c;d", Value: " spaces at both ends "},
		{Key: "percent", Value: "100%25 \"quoted\" \\"},
	}
	rs[5].Headers = many
	rs[6].ContentType = "application/vnd.example+json; charset=utf-8"
	rs[7].Control = fullControl()
	rs[8].Key = nil // at whatever receiver, in a sequence too
	rs[8].Control = driver.Control{}
	rs[8].Body = []byte(strings.Repeat("0123456789abcdef", 1<<11))
	return rs
}

func roundTrip(t *T) {
	l := t.line()
	r := l.receiver()
	records := oddRecords(t)
	l.send(records...)
	r.done(r.expect(records...)...)
}

// limit returns the size of the largest record that the sender takes and the suite sends.
func (s *sender) limit() int {
	if s.limits.MaxRecord > 0 {
		return min(s.limits.MaxRecord, s.t.h.MaxRecord)
	}
	return s.t.h.MaxRecord
}

// sized returns a record of exactly n bytes as limits count them, with full control data, which does not count.
func (t *T) sized(n int) driver.Record {
	r := t.record()
	r.Control = fullControl()
	r.Body = nil
	r.Body = make([]byte, n-r.Size())
	fill(r.Body, "0123456789abcdefghijklmnopqrstuvwxyz\x00\xff")
	return r
}

func recordSizes(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	records := t.batch(2)
	records[0].Body = nil
	records[1].Body = []byte{0}
	records = append(records, t.sized(s.limit()))
	for i := range records {
		s.send(records[i])
		r.done(r.expect(records[i])...)
	}
}

func tooLarge(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	ctx := t.soon()
	// The bytes over the limit are in the body, in the key, and in the headers: they count together.
	for _, over := range []string{"body", "key", "headers"} {
		rec := t.record()
		rec.Body, rec.Headers = nil, nil
		rest := s.limits.MaxRecord + 1 - rec.Size()
		switch over {
		case "body":
			rec.Body = make([]byte, rest)
		case "key":
			rec.Body = make([]byte, rest-1)
			rec.Key = append(rec.Key, 'k')
		case "headers":
			rec.Headers = []driver.Header{{Key: "h", Value: "v"}}
			rec.Body = make([]byte, rest-2)
		}
		err := s.large(ctx, rec)
		if !errors.Is(err, driver.ErrTooLarge) || !errors.Is(err, driver.ErrNotSent) {
			t.Errorf("%d bytes, one over the limit with the %s: %v, want ErrTooLarge and ErrNotSent", rec.Size(), over, err)
		}
	}
	r.none()
}

// large is try for records that are too large to be copied and overwritten in passing.
func (s *sender) large(ctx context.Context, records ...driver.Record) error {
	var err error
	if !s.t.until(ctx, "Send", s.t.h.Wait, func() { err = s.s.Send(ctx, records) }) {
		s.t.FailNow()
	}
	s.checkError("Send", len(records), err)
	return err
}

func badEntry(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	if n := s.limits.MaxBatch; n > 0 && n < 2 {
		return // a batch has one record
	}
	rs := t.batch(5)
	for i, key := range []string{"a", "b", "a", "b", "c"} {
		rs[i].Key = []byte(key)
	}
	rs[1].Body = make([]byte, s.limits.MaxRecord)
	if n := s.limits.MaxBatch; n > 0 && n < len(rs) {
		rs = rs[:n]
	}
	// The limits of a call hold for the call of a record that is too large as well.
	if parts := s.parts(rs); len(parts) > 1 {
		t.Logf("a record over MaxRecord, %d bytes, and others are more than a call takes, %d bytes", s.limits.MaxRecord, s.limits.MaxBytes)
		return
	}
	ctx := t.soon()
	err := s.large(ctx, rs...)
	var good []driver.Record
	for i := range rs {
		entry := driver.EntryError(err, i)
		switch {
		case i == 1:
			if !errors.Is(entry, driver.ErrTooLarge) || !errors.Is(entry, driver.ErrNotSent) {
				t.Errorf("the record that is too large: %v, want ErrTooLarge and ErrNotSent", entry)
			}
		case string(rs[i].Key) == "b":
			if !errors.Is(entry, driver.ErrNotSent) {
				t.Errorf("a later record of the key that failed: %v, want ErrNotSent", entry)
			}
		case entry != nil:
			t.Errorf("record %d, of another key than the one that failed: %v", i, entry)
		default:
			good = append(good, rs[i])
		}
	}
	r.done(r.expect(good...)...)
	r.none()
}

func sendBatches(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	if err := s.try(t.soon()); err != nil {
		t.Errorf("Send of no record: %v", err)
	}
	for _, n := range []int{1, 2, 33, 200} {
		records := t.batch(n)
		s.send(records...)
		r.drain(records...)
	}
	r.none()
}

func bytesReturned(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	const callers, each = 8, 8
	records := t.batch(callers * each)
	for i := range records {
		records[i].Control = fullControl()
		records[i].Body = append(records[i].Body, make([]byte, 100*(i%callers))...)
	}
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() { s.send(records[c*each : (c+1)*each]...) })
	}
	wg.Wait()
	r.done(r.expect(records...)...)
}

func dueIgnored(t *T) {
	l := t.line()
	r := l.receiver()
	rec := t.record()
	rec.Due = driver.StampOf(time.Now().Add(time.Hour))
	l.send(rec)
	r.done(r.expect(rec)...)
}

func uniqueCopies(t *T) {
	l := t.line()
	s, r := l.sender(), l.receiver()
	rec := t.record()
	s.send(rec)
	again := rec
	again.Unique = true
	again.Control.Attempt = 2
	s.send(again)
	s.send(again, again)
	ds := r.take(4)
	for _, d := range ds {
		if d.ID.String() != rec.ID.Text {
			t.Errorf("came %q, want four times %q", ids(ds), rec.ID.Text)
		}
	}
	r.done(ds...)
	r.none()
}

func limitsAgree(t *T) {
	s := t.lineOf(t.firstKind()).sender()
	l := s.limits
	if again := s.s.Limits(); again != l {
		t.Errorf("Limits said %+v, then %+v", l, again)
	}
	if l.Batch < 0 || l.MaxBatch < 0 || l.MaxBytes < 0 || l.MaxRecord < 0 || l.Overlap < 0 {
		t.Errorf("a limit is negative: %+v", l)
	}
	if l.MaxBatch > 0 && l.Batch > l.MaxBatch {
		t.Errorf("the batch that pays, %d, is larger than the largest, %d", l.Batch, l.MaxBatch)
	}
	if l.MaxBytes > 0 && l.MaxRecord > l.MaxBytes {
		t.Errorf("the largest record, %d bytes, is larger than the largest call, %d bytes", l.MaxRecord, l.MaxBytes)
	}
}
