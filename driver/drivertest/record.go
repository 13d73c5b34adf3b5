package drivertest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/wherryhq/wherry/driver"
)

// record returns a record like no other: its body names its id.
func (t *T) record() driver.Record {
	t.mu.Lock()
	t.records++
	n := t.records
	t.mu.Unlock()
	id := fmt.Sprintf("m-%04d", n)
	return driver.Record{
		ID:      driver.ID{Text: id},
		Key:     fmt.Appendf(nil, "k-%d", n%7),
		Body:    []byte("body of " + id),
		Headers: []driver.Header{{Key: "n", Value: fmt.Sprint(n)}},
		Control: driver.Control{Attempt: 1, Published: stampOf(n)},
	}
}

// stampOf is a time in 1998, before the clock of any bubble begins.
func stampOf(n uint64) driver.Stamp { return driver.Stamp(900_000_000_000_000_000 + int64(n)) }

// batch returns n records.
func (t *T) batch(n int) []driver.Record {
	rs := make([]driver.Record, n)
	for i := range rs {
		rs[i] = t.record()
	}
	return rs
}

// keyed returns n records with one key.
func (t *T) keyed(key string, n int) []driver.Record {
	rs := t.batch(n)
	for i := range rs {
		rs[i].Key = []byte(key)
	}
	return rs
}

func cloneRecords(rs []driver.Record) []driver.Record {
	out := slices.Clone(rs)
	for i := range out {
		r := &out[i]
		r.Key = bytes.Clone(r.Key)
		r.Body = bytes.Clone(r.Body)
		r.Headers = slices.Clone(r.Headers)
		r.Control = r.Control.Clone()
	}
	return out
}

// poison overwrites everything in the batch that a driver could have kept.
func poison(rs []driver.Record) {
	for i := range rs {
		r := &rs[i]
		fill(r.Key, "#")
		fill(r.Body, "#")
		for j := range r.Headers {
			r.Headers[j] = driver.Header{Key: "poison", Value: "poison"}
		}
		if h := r.Control.Hold; h != nil {
			*h = driver.HoldData{Topic: "poison"}
		}
		if f := r.Control.Failure; f != nil {
			*f = driver.Failure{Topic: "poison"}
		}
		*r = driver.Record{ID: driver.ID{Text: "poison"}, Body: []byte("poison")}
	}
}

// fill repeats the pattern over b.
func fill(b []byte, pattern string) {
	for n := copy(b, pattern); n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// difference says how d is not what r was sent as; "" when it is.
func difference(r *driver.Record, d *driver.Delivery) string {
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if want, got := r.ID.String(), d.ID.String(); want != got {
		say("id %q, want %q", got, want)
	}
	if !bytes.Equal(r.Key, d.Key) {
		say("key %.60q, want %.60q", d.Key, r.Key)
	}
	if !bytes.Equal(r.Body, d.Body) {
		say("body of %d bytes %.60q, want %d bytes %.60q", len(d.Body), d.Body, len(r.Body), r.Body)
	}
	if !slices.Equal(r.Headers, d.Headers) {
		say("headers %.300q, want %.300q", d.Headers, r.Headers)
	}
	if r.ContentType != d.ContentType {
		say("content type %q, want %q", d.ContentType, r.ContentType)
	}
	wrong = append(wrong, controlDifference(r.Control, d.Control)...)
	return strings.Join(wrong, "; ")
}

func controlDifference(want, got driver.Control) []string {
	var wrong []string
	if a, b := max(want.Attempt, 1), max(got.Attempt, 1); a != b {
		wrong = append(wrong, fmt.Sprintf("attempt %d, want %d", b, a))
	}
	if want.Published != got.Published {
		wrong = append(wrong, fmt.Sprintf("published at %d, want %d", got.Published, want.Published))
	}
	if want.Defers != got.Defers || want.Deferred != got.Deferred {
		wrong = append(wrong, fmt.Sprintf("%d defers of %v, want %d of %v",
			got.Defers, got.Deferred, want.Defers, want.Deferred))
	}
	if want.Redriven != got.Redriven {
		wrong = append(wrong, fmt.Sprintf("redriven is %t, want %t", got.Redriven, want.Redriven))
	}
	if !samePointed(want.Hold, got.Hold) {
		wrong = append(wrong, fmt.Sprintf("hold data %+v, want %+v", got.Hold, want.Hold))
	}
	if !samePointed(want.Failure, got.Failure) {
		wrong = append(wrong, fmt.Sprintf("failure %+v, want %+v", got.Failure, want.Failure))
	}
	return wrong
}

func samePointed[V comparable](a, b *V) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// ids returns the ids of deliveries, for comparison and for messages.
func ids(ds []*driver.Delivery) []string {
	out := make([]string, len(ds))
	for i, d := range ds {
		out[i] = d.ID.String()
	}
	return out
}

func recordIDs(rs []driver.Record) []string {
	out := make([]string, len(rs))
	for i := range rs {
		out[i] = rs[i].ID.String()
	}
	return out
}

// sameSet reports whether a and b hold the same texts as often, in any order.
func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// wantAll fails the case unless what came is exactly the records, in any order.
func (t *T) wantAll(came []string, records []driver.Record) {
	if sent := recordIDs(records); !sameSet(came, sent) {
		missing := slices.DeleteFunc(sent, func(id string) bool { return slices.Contains(came, id) })
		t.Errorf("%d came of %d that were sent; missing %q; came %q", len(came), len(records), missing, came)
	}
}
