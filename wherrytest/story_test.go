package wherrytest

import (
	"testing"

	"github.com/wherryhq/wherry/driver"
)

// A second attempt can be over before the first is settled, since its copy was sent before.
func TestStoryStandsInOrderWhateverIsSettledFirst(t *testing.T) {
	t.Parallel()
	l, orders := newLedger(), driver.Topic{Name: "orders"}
	r := newReceiver(l, nil, driver.Source{Topics: []driver.Topic{orders}})
	l.opened(r)
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
