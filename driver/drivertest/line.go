package drivertest

import (
	"github.com/wherryhq/wherry/driver"
)

// A line is a topic with the ways into it and out of it, through one connection.
type line struct {
	t     *T
	b     driver.Broker
	kind  kind
	topic driver.Topic
	group string
}

// line returns a fresh topic for the kind of the case.
func (t *T) line() *line { return t.lineOf(t.c.kind) }

func (t *T) lineOf(k kind) *line {
	l := &line{t: t, b: t.Broker(), kind: k}
	l.topic = driver.Topic{Name: t.Topic(), Fanout: k.fanout, Keyed: k.keyed}
	if k.grouped {
		l.group = "one"
		l.topic.Groups = []string{l.group}
	}
	return l
}

// over returns the same line through another connection.
func (l *line) over(b driver.Broker) *line {
	other := *l
	other.b = b
	return &other
}

// of returns the same topic as another group sees it.
func (l *line) of(group string) *line {
	other := *l
	other.group = group
	return &other
}

func (l *line) target() driver.Target { return driver.Target{Topic: l.topic} }

// prefetch is how many deliveries a case has in hand at one receiver at most, where it does not say otherwise.
const prefetch = 64

func (l *line) source() driver.Source {
	return driver.Source{
		Topics: []driver.Topic{l.topic}, Group: l.group, Prefetch: prefetch, Name: "drivertest", Manner: l.kind.manner,
	}
}

// sender opens a sender to the topic.
func (l *line) sender() *sender { return l.senderTo(l.target()) }

// toGroup opens a sender that addresses the line's group alone.
func (l *line) toGroup() *sender { return l.senderTo(driver.Target{Topic: l.topic, Group: l.group}) }

func (l *line) senderTo(target driver.Target) *sender {
	t := l.t
	ctx := t.soon()
	var s driver.Sender
	var err error
	if !t.within("OpenSender", 2*t.h.Wait, func() { s, err = l.b.OpenSender(ctx, target) }) {
		t.FailNow()
	}
	if err != nil {
		t.Fatalf("OpenSender(%s): %v", target.Topic.Name, err)
	}
	return watchSender(t, s)
}

// receiver opens a receiver of the line's kind.
func (l *line) receiver() *receiver { return l.receiverOf(l.source()) }

func (l *line) receiverOf(s driver.Source) *receiver {
	t := l.t
	r, err := l.tryReceiver(s)
	if err != nil {
		t.Fatalf("opening a %s of %s: %v", l.kind.name, s.Topics[0].Name, err)
	}
	return watchReceiver(t, r, s)
}

func (l *line) tryReceiver(s driver.Source) (driver.Receiver, error) {
	t := l.t
	ctx := t.soon()
	var r driver.Receiver
	var err error
	if !t.within("opening a "+l.kind.name, 2*t.h.Wait, func() { r, err = l.kind.open(ctx, l.b, s) }) {
		t.FailNow()
	}
	return r, err
}

// send sends records and waits for their confirmation.
func (l *line) send(records ...driver.Record) {
	s := l.sender()
	s.send(records...)
	s.close()
}

// empty fails the case unless a new receiver of the line brings nothing.
func (l *line) empty() {
	r := l.receiver()
	r.none()
	r.close()
}
