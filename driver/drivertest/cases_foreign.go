package drivertest

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/wherryhq/wherry/driver"
)

func foreignCases() []Case {
	hooks := []string{HookInject}
	return []Case{
		{
			Name:     "foreign/plain",
			Sentence: "A record of a foreign program, without this project's data, arrives with its body; it has no control data.",
			Hooks:    hooks, kinds: kinds, Run: foreignPlain,
		},
		{
			Name:     "foreign/headers",
			Sentence: "Headers of a foreign record arrive as headers, but for reserved ones, and nothing in them is taken for control data.",
			Hooks:    hooks, kinds: kinds, Run: foreignHeaders,
		},
		{
			Name:     "foreign/garbage",
			Sentence: "A record whose reserved headers are garbage arrives without control data, and holds nothing up.",
			Hooks:    hooks, kinds: kinds, Run: foreignGarbage,
		},
	}
}

// inject puts records on the line as a foreign program does, and after them one of ours.
func (l *line) inject(r *receiver, records ...driver.Record) (foreign []*driver.Delivery) {
	t := l.t
	for i := range records {
		t.h.Inject(t, l.topic, cloneRecords(records[i : i+1])[0])
	}
	ours := t.record()
	l.send(ours)
	ds := r.take(len(records) + 1)
	i := slices.IndexFunc(ds, func(d *driver.Delivery) bool { return d.ID.String() == ours.ID.String() })
	if i < 0 {
		t.Fatalf("the record behind the foreign ones did not come; came %q", ids(ds))
	}
	if wrong := difference(&ours, ds[i]); wrong != "" {
		t.Errorf("the record behind the foreign ones arrived with %s", wrong)
	}
	r.done(ds[i])
	return slices.Delete(ds, i, i+1)
}

// wantForeign fails the case where a foreign delivery has control data or none of the bodies.
func (t *T) wantForeign(ds []*driver.Delivery, records []driver.Record) {
	for i := range records {
		j := slices.IndexFunc(ds, func(d *driver.Delivery) bool { return bytes.Equal(d.Body, records[i].Body) })
		if j < 0 {
			t.Errorf("no delivery has the body %.60q", records[i].Body)
			continue
		}
		d := ds[j]
		var none driver.Control
		if at := d.Control.Published.Time(); at.After(t.began.Add(-time.Hour)) {
			none.Published = d.Control.Published // the broker's own time of it
		}
		if wrong := controlDifference(none, d.Control); len(wrong) > 0 {
			t.Errorf("a foreign record arrived with control data: %s; leave Control zero where ParseControl returns an error, and "+
				"where there is no %s header", strings.Join(wrong, "; "), driver.ControlHeader)
		}
		for _, h := range records[i].Headers {
			has := slices.Contains(d.Headers, h)
			switch reserved := strings.HasPrefix(h.Key, driver.ReservedPrefix); {
			case reserved && has:
				t.Errorf("the reserved header %q of a foreign record reached the delivery; leave out of Headers what begins with "+
					"ReservedPrefix, in process too", h.Key)
			case !reserved && !has:
				t.Errorf("the header %q of a foreign record did not reach the delivery; its headers are %.300q", h.Key, d.Headers)
			}
		}
	}
}

func foreignPlain(t *T) {
	l := t.line()
	r := l.receiver()
	r.none()
	records := []driver.Record{{Body: []byte("plain")}, {Body: []byte("\x00\xff"), Key: []byte("key")}}
	if l.kind.keyed {
		records = records[1:]
	}
	ds := l.inject(r, records...)
	t.wantForeign(ds, records)
	r.done(ds...)
	r.none()
}

func foreignHeaders(t *T) {
	l := t.line()
	r := l.receiver()
	r.none()
	records := []driver.Record{{
		Body: []byte("with headers"), Key: []byte("key"),
		Headers: []driver.Header{
			{Key: "traceparent", Value: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			{Key: "attempt", Value: "9"},
			{Key: "x-death", Value: "many"},
			{Key: "x-retry-count", Value: "7"},
			{Key: driver.ReservedPrefix + "of-a-stranger", Value: "1"},
		},
	}}
	ds := l.inject(r, records...)
	t.wantForeign(ds, records)
	r.done(ds...)
}

func foreignGarbage(t *T) {
	l := t.line()
	r := l.receiver()
	r.none()
	var records []driver.Record
	for _, garbage := range []string{"", "garbage", "1;a=-4", "1;a", "2;a=3", "1;r=1;d=2;dd=5;p=7;a=-4", "1;a=9999999999999999999", "1;f1=%zz", "\x00;=;"} {
		records = append(records, driver.Record{
			Body: []byte("garbage " + garbage), Key: []byte("key"),
			Headers: []driver.Header{{Key: driver.ControlHeader, Value: garbage}},
		})
	}
	ds := l.inject(r, records...)
	t.wantForeign(ds, records)
	r.done(ds...)
	r.none()
}
