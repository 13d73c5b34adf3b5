package mem_test

import (
	"bytes"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// accepter is the sender of a topic, as what takes records at once.
func accepter(t *testing.T, b *mem.Broker, topic driver.Topic) driver.Accepter {
	t.Helper()
	s, err := b.OpenSender(t.Context(), driver.Target{Topic: topic})
	if err != nil {
		t.Fatal(err)
	}
	return s.(driver.Accepter)
}

func TestAcceptTakesBodiesWithoutACopy(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{})
	topic := queueTopic("orders")
	a, r := accepter(t, b, topic), receiver(t, b, "", topic)
	body := []byte("body")
	rec := driver.Record{Body: body}
	if !a.Accept(&rec) {
		t.Fatal("not accepted")
	}
	d := take(t, r, 1)[0]
	if &d.Body[0] != &body[0] {
		t.Error("the body was copied")
	}
	settle(t, r, driver.Done, d)
	// A body in a buffer that is much larger is copied, or a full queue of small ones would hold as many large buffers.
	large := driver.Record{Body: append(make([]byte, 0, 64<<10), "small"...)}
	if !a.Accept(&large) || cap(large.Body) != 64<<10 {
		t.Errorf("the large buffer was not given back: %d bytes were", cap(large.Body))
	}
	want(t, "body", string(take(t, r, 1)[0].Body), "small")
}

// A body that is copied comes with the id that its queue gives it, also in an entry that had a key before.
func TestAcceptCopies(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{MaxMessages: 2})
	topic := queueTopic("orders")
	a, r := accepter(t, b, topic), receiver(t, b, "", topic)
	keyed := driver.Record{Body: []byte("keyed"), Key: []byte("key")}
	if !a.Accept(&keyed) {
		t.Fatal("not accepted")
	}
	settle(t, r, driver.Done, take(t, r, 1)...)
	body := []byte("body")
	for i := range 3 {
		if got := a.AcceptCopy(body, "text/plain", 7); got != (i < 2) {
			t.Errorf("body %d: accepted is %v", i, got)
		}
	}
	copy(body, "####")
	ds := take(t, r, 2)
	for _, d := range ds {
		want(t, "body", string(d.Body), "body")
		want(t, "key", string(d.Key), "")
		want(t, "content type", d.ContentType, "text/plain")
		want(t, "time", d.Control.Published, 7)
	}
	if ds[0].ID == ds[1].ID || ds[0].ID.IsZero() || ds[1].ID.IsZero() {
		t.Errorf("the ids are %q and %q", ds[0].ID, ds[1].ID)
	}
	settle(t, r, driver.Done, ds...)
	b.Faults().Disconnect(mem.HardCut)
	if a.AcceptCopy(body, "text/plain", 7) {
		t.Error("accepted while the broker is away")
	}
}

func TestAcceptTakesNothingElse(t *testing.T) {
	t.Parallel()
	for what, r := range map[string]driver.Record{
		"a header":       {Headers: []driver.Header{{Key: "k", Value: "v"}}},
		"a text id":      {ID: driver.ID{Text: "id"}},
		"a hold":         {Control: driver.Control{Hold: &driver.HoldData{}}},
		"a failure":      {Control: driver.Control{Failure: &driver.Failure{}}},
		"a size":         {Body: make([]byte, 1<<10+1)},
		"a size of both": {Key: make([]byte, 1<<9), Body: make([]byte, 1<<9+1)},
	} {
		if b := mem.New(mem.Config{MaxRecord: 1 << 10}); accepter(t, b, queueTopic("orders")).Accept(&r) {
			t.Errorf("a record with %s was accepted", what)
		}
	}
	fan := driver.Topic{Name: "fan", Fanout: true, Groups: []string{"a", "b"}}
	if b := mem.New(mem.Config{}); accepter(t, b, fan).Accept(&driver.Record{}) {
		t.Error("a record for two groups was accepted")
	}
}

func TestAcceptDoesNotWaitForRoom(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{MaxMessages: 2})
	topic := queueTopic("orders")
	a, r := accepter(t, b, topic), receiver(t, b, "", topic)
	for i := range 3 {
		rec := driver.Record{Body: bytes.Repeat([]byte{byte(i)}, 8)}
		if got := a.Accept(&rec); got != (i < 2) {
			t.Errorf("record %d: accepted is %v", i, got)
		}
		if i == 2 && len(rec.Body) != 8 {
			t.Error("the record was changed")
		}
	}
	want(t, "received", len(take(t, r, 2)), 2)
}

func TestAcceptTakesNothingWhileTheBrokerIsAway(t *testing.T) {
	t.Parallel()
	b := mem.New(mem.Config{})
	a := accepter(t, b, queueTopic("orders"))
	b.Faults().Disconnect(mem.HardCut)
	if a.Accept(&driver.Record{Body: []byte("x")}) {
		t.Error("accepted")
	}
}
