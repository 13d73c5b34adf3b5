package drivertest

import (
	"context"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// What an opening may be given, and what it may not do.
func openCases() []Case {
	return []Case{
		{
			Name:     "open/context",
			Sentence: "The context of an opening bounds the opening alone: what was opened works after it has ended.",
			kinds:    kinds, Run: contextOfOpening,
		},
		{
			Name:     "open/external",
			Sentence: "Under External an opening creates nothing, whether it fails or not; what exists is opened, sent to and received from.",
			kinds:    kinds, Run: externalCreatesNothing,
		},
		{
			Name: "open/shape",
			Sentence: "What a source or a target asks for is refused where it has no place: a fan-out that is opened as a queue or a queue as a " +
				"fan-out, a group of a queue, a group without a name.",
			kinds: kinds, Run: shapesRefused,
		},
		{
			Name: "open/least",
			Sentence: "A source with a prefetch of 1, without a name and of a topic that names no groups brings every record, one after " +
				"the other.",
			kinds: settled, Run: leastSource,
		},
	}
}

func contextOfOpening(t *T) {
	l := t.line()
	ctx, cancel := context.WithTimeout(context.Background(), t.h.Wait)
	src := l.source()
	opened, err := l.kind.open(ctx, l.b, src)
	if err != nil {
		t.Fatalf("opening a %s: %v", l.kind.name, err)
	}
	r := watchReceiver(t, opened, src)
	sending, err := l.b.OpenSender(ctx, l.target())
	if err != nil {
		t.Fatalf("OpenSender: %v", err)
	}
	s := watchSender(t, sending)
	cancel()
	t.pause(t.h.Quiet / 5)
	for range 2 {
		records := t.keyed("k", 3)
		s.send(records...)
		r.done(r.expect(records...)...)
	}
}

// externalSender opens a sender under External.
func (l *line) externalSender() (driver.Sender, error) {
	target := l.target()
	target.Topology = driver.External
	return l.b.OpenSender(l.t.soon(), target)
}

func (l *line) externalSource() driver.Source {
	s := l.source()
	s.Topology = driver.External
	return s
}

func externalCreatesNothing(t *T) {
	l := t.line()
	if s, err := l.externalSender(); err == nil {
		t.closing("Sender.Close", s.Close)
	}
	if r, err := l.tryReceiver(l.externalSource()); err == nil {
		t.closing("Receiver.Close", r.Close)
	}
	if d, ok := l.b.(driver.Declarer); ok {
		_ = d.Declare(t.soon(), l.topic, driver.External)
	}
	t.wantNoTopic("OpenSender under Verify of what was opened under External alone", l.verifySender(l.target()))
	t.wantNoTopic("opening a receiver under Verify of what was opened under External alone", l.verifyReceiver())

	l.receiver().close()
	l.sender().close()
	s, err := l.externalSender()
	if err != nil {
		t.Fatalf("OpenSender under External of a topic that was declared: %v", err)
	}
	src := l.externalSource()
	r, err := l.tryReceiver(src)
	if err != nil {
		t.Fatalf("opening a receiver under External of what was declared: %v", err)
	}
	to, from := watchSender(t, s), watchReceiver(t, r, src)
	rec := t.record()
	to.send(rec)
	from.done(from.expect(rec)...)
}

// refused wants an opening to fail.
func (t *T) refused(what string, err error, closing func(context.Context) error) {
	if err == nil {
		t.Errorf("%s succeeded, want an error: what it was asked for would be ignored", what)
		t.closing("Close", closing)
	}
}

func (l *line) refusedSource(what string, change func(s *driver.Source)) {
	s := l.source()
	s.Topics = []driver.Topic{l.topic}
	change(&s)
	r, err := l.tryReceiver(s)
	var closing func(context.Context) error
	if err == nil {
		closing = r.Close
	}
	l.t.refused("opening a "+l.kind.name+" "+what, err, closing)
}

func (l *line) refusedTarget(what string, target driver.Target) {
	s, err := l.b.OpenSender(l.t.soon(), target)
	var closing func(context.Context) error
	if err == nil {
		closing = s.Close
	}
	l.t.refused("OpenSender "+what, err, closing)
}

// shapesRefused uses a topic of its own for each mistake, as a broker may declare a topic before it finds the mistake in what
// is asked of it.
func shapesRefused(t *T) {
	l := t.line
	if !t.c.kind.fanout {
		l().refusedSource("of a fan-out", func(s *driver.Source) { s.Topics[0].Fanout = true })
		l().refusedSource("with a group", func(s *driver.Source) { s.Group = "one" })
		l().refusedTarget("to a group of a queue", driver.Target{Topic: l().topic, Group: "one"})
		if !fansOut(l().b) {
			spread := l().topic
			spread.Fanout = true
			l().refusedTarget("to a fan-out, which this broker has no way to receive from,", driver.Target{Topic: spread})
		}
		return
	}
	l().refusedSource("of a queue", func(s *driver.Source) { s.Topics[0].Fanout, s.Topics[0].Groups = false, nil })
	if t.c.kind.grouped {
		l().refusedSource("without a group", func(s *driver.Source) { s.Group = "" })
	} else {
		l().refusedSource("with a group", func(s *driver.Source) { s.Group = "one" })
	}
}

// fansOut reports whether the broker has a way to receive from a fan-out.
func fansOut(b driver.Broker) bool {
	for _, k := range kinds {
		if k.fanout && k.can(b) {
			return true
		}
	}
	return false
}

func leastSource(t *T) {
	l := t.line()
	l.topic.Groups = nil
	src := l.source()
	src.Prefetch, src.Name = 1, ""
	r := l.receiverOf(src)
	r.none() // a group begins with its first member
	records := t.keyed("k", 5)
	l.send(records...)
	var came []string
	limit := time.Now().Add(t.h.Wait)
	for range records {
		ds := r.upTo(1, time.Until(limit))
		came = append(came, ids(ds)...)
		r.done(ds...)
	}
	t.wantAll(came, records)
}
