package wherrytest

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
)

// A second attempt can be over before the first is settled, since its copy was sent before.
func TestStoryStandsInOrderWhateverIsSettledFirst(t *testing.T) {
	t.Parallel()
	l, orders := newLedger(), driver.Topic{Name: "orders"}
	r := newAccount(l, driver.Source{Topics: []driver.Topic{orders}}, driver.Competing, driver.Info{})
	send := func(role driver.Role, rec driver.Record) {
		topic := orders
		topic.Role = role
		rec.ID = driver.ID{Text: "one"}
		l.sent(l.sending(driver.Target{Topic: topic}, []driver.Record{rec}), nil)
	}
	receive := func(attempt int) *driver.Delivery {
		d := &driver.Delivery{Topic: orders.Name}
		d.ID, d.Control.Attempt = driver.ID{Text: "one"}, attempt
		l.received(r, []*driver.Delivery{d})
		return d
	}
	settle := func(d *driver.Delivery) {
		batch := []driver.Settlement{{Delivery: d, Verdict: driver.Done}}
		l.settled(r, batch, l.settling(r, batch), nil)
	}

	send(driver.Main, driver.Record{})
	first := receive(1)
	failed := &driver.Failure{Topic: orders.Name, Last: "declined"}
	send(driver.Main, driver.Record{Unique: true, Control: driver.Control{Attempt: 2, Failure: failed}})
	second := receive(2)
	dead := &driver.Failure{Topic: orders.Name, Last: "declined", Reason: "exhausted"}
	send(driver.DeadLetter, driver.Record{Unique: true, Control: driver.Control{Attempt: 2, Failure: dead}})
	settle(second)
	settle(first)

	want := "one  published; attempt 1 failed: declined; dead, exhausted: declined"
	if got := l.stories.order[0].tell(place{topic: orders.Name}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A copy can come before its Send returns. It is then in hand beside the one that it is a copy of, which alone has moved.
func TestACopyIsNotTakenForItsOriginal(t *testing.T) {
	t.Parallel()
	for range 20 { // the two lie in a map
		l, orders := newLedger(), driver.Topic{Name: "orders"}
		a := newAccount(l, driver.Source{Topics: []driver.Topic{orders}}, driver.Competing, driver.Info{})
		receive := func(attempt int) driver.Settlement {
			d := &driver.Delivery{Topic: orders.Name, ID: driver.ID{Text: "one"}, Control: driver.Control{Attempt: attempt}}
			l.received(a, []*driver.Delivery{d})
			return driver.Settlement{Delivery: d, Verdict: driver.Done}
		}
		first := receive(1)
		failed := &driver.Failure{Topic: orders.Name, Last: "declined"}
		out := l.sending(driver.Target{Topic: orders}, []driver.Record{
			{ID: driver.ID{Text: "one"}, Unique: true, Control: driver.Control{Attempt: 2, Failure: failed}},
		})
		second := receive(2)
		l.sent(out, nil)
		batch := []driver.Settlement{second, first}
		l.settled(a, batch, l.settling(a, batch), nil)

		want := "one  attempt 1 failed: declined; handled at attempt 2"
		if got := l.stories.order[0].tell(place{topic: orders.Name}); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	}
}
