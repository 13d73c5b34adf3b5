package drivertest

import (
	"errors"
	"sync"

	"github.com/wherryhq/wherry/driver"
)

func topologyCases() []Case {
	return []Case{
		{
			Name: "topology/verify-sender",
			Sentence: "Under Verify, OpenSender on a topic that does not exist fails with ErrNoTopic and creates nothing; " +
				"once the topic exists, it opens.",
			Run: verifySender,
		},
		{
			Name: "topology/verify-receiver",
			Sentence: "Under Verify, opening a receiver of a topic that does not exist fails with ErrNoTopic and creates " +
				"nothing; once the topic exists, it opens.",
			kinds: kinds, Run: verifyReceiver,
		},
		{
			Name:     "topology/verify-group",
			Sentence: "Under Verify, a group that does not exist on a topic that does is ErrNoTopic, for members and for senders to it.",
			kinds:    []kind{groupKind}, Run: verifyGroup,
		},
		{
			Name:     "topology/declare",
			Sentence: "Declare is idempotent, creates under Declare, and under Verify fails with ErrNoTopic or creates nothing.",
			Needs:    []Ability{Declare}, kinds: kinds, Run: declareTwice,
		},
		{
			Name:     "topology/concurrent",
			Sentence: "A topic may be opened for the first time by several senders and receivers at once: all of them open, and work.",
			kinds:    kinds, Run: openConcurrently,
		},
		{
			Name:     "topology/isolated",
			Sentence: "A receiver brings the records of its own topics and no others.",
			kinds:    kinds, Run: isolatedTopics,
		},
		{
			Name:     "topology/dead-letter",
			Sentence: "A topic in the role of dead letters takes records and gives them back whole.",
			Needs:    []Ability{Queue}, Run: func(t *T) { roleRoundTrip(t, driver.DeadLetter) },
		},
		{
			Name:     "topology/hold",
			Sentence: "A topic in the role of a hold takes records and gives them back whole, with their hold data.",
			Needs:    []Ability{Queue}, Run: func(t *T) { roleRoundTrip(t, driver.Hold) },
		},
	}
}

// verifySenderOpens reports the error of opening a sender to target under Verify.
func (l *line) verifySender(target driver.Target) error {
	ctx := l.t.soon()
	target.Topology = driver.Verify
	s, err := l.b.OpenSender(ctx, target)
	if err == nil {
		l.t.closing("Sender.Close", s.Close)
	}
	return err
}

func (l *line) verifyReceiver() error {
	s := l.source()
	s.Topology = driver.Verify
	r, err := l.tryReceiver(s)
	if err == nil {
		l.t.closing("Receiver.Close", r.Close)
	}
	return err
}

func (t *T) wantNoTopic(what string, err error) {
	if !errors.Is(err, driver.ErrNoTopic) {
		t.Errorf("%s: %v, want ErrNoTopic", what, err)
	}
}

func verifySender(t *T) {
	l := t.lineOf(t.firstKind())
	t.wantNoTopic("OpenSender of an unknown topic under Verify", l.verifySender(l.target()))
	t.wantNoTopic("OpenSender of it again, after the first had failed", l.verifySender(l.target()))
	l.receiver().close()
	l.sender().close()
	if err := l.verifySender(l.target()); err != nil {
		t.Errorf("OpenSender under Verify of a topic that was declared: %v", err)
	}
}

// firstKind is a kind that the broker has, for cases that do not care which.
func (t *T) firstKind() kind {
	for _, k := range kinds {
		if k.can(t.Broker()) {
			return k
		}
	}
	t.Fatalf("the broker has no way to receive")
	return kind{}
}

func verifyReceiver(t *T) {
	l := t.line()
	t.wantNoTopic("opening a receiver of an unknown topic under Verify", l.verifyReceiver())
	t.wantNoTopic("opening it again, after the first had failed", l.verifyReceiver())
	t.wantNoTopic("OpenSender of it under Verify, after that", l.verifySender(l.target()))
	l.receiver().close()
	if err := l.verifyReceiver(); err != nil {
		t.Errorf("opening a receiver under Verify of what was declared: %v", err)
	}
}

func verifyGroup(t *T) {
	l := t.line()
	l.receiver().close()
	stranger := l.of("stranger")
	t.wantNoTopic("opening a member of an unknown group under Verify", stranger.verifyReceiver())
	t.wantNoTopic("OpenSender to an unknown group under Verify",
		stranger.verifySender(driver.Target{Topic: l.topic, Group: stranger.group}))
	t.wantNoTopic("opening a member of it again, after that", stranger.verifyReceiver())
	if err := l.verifySender(driver.Target{Topic: l.topic, Group: l.group}); err != nil {
		t.Errorf("OpenSender under Verify to a group that was declared: %v", err)
	}
}

func declareTwice(t *T) {
	l := t.line()
	d, ok := l.b.(driver.Declarer)
	if !ok {
		t.Fatalf("%T is no Declarer", l.b)
	}
	declare := func(mode driver.Topology) error {
		ctx := t.soon()
		return d.Declare(ctx, l.topic, mode)
	}
	t.wantNoTopic("Declare of an unknown topic under Verify", declare(driver.Verify))
	t.wantNoTopic("Declare of it again", declare(driver.Verify))
	for range 2 {
		if err := declare(driver.Declare); err != nil {
			t.Fatalf("Declare: %v", err)
		}
	}
	if err := declare(driver.Verify); err != nil {
		t.Errorf("Declare under Verify of a topic that was declared: %v", err)
	}
	if err := l.verifySender(l.target()); err != nil {
		t.Errorf("OpenSender under Verify of a topic that was declared: %v", err)
	}
	if err := l.verifyReceiver(); err != nil {
		t.Errorf("opening a receiver under Verify of a topic that was declared: %v", err)
	}
}

func openConcurrently(t *T) {
	l := t.line()
	const each = 4
	senders, receivers := make([]*sender, each), make([]*receiver, each)
	var wg sync.WaitGroup
	for i := range each {
		wg.Go(func() { senders[i] = l.sender() })
		wg.Go(func() { receivers[i] = l.receiver() })
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for _, r := range receivers[1:] {
		r.close()
	}
	for _, s := range senders {
		records := t.batch(2)
		s.send(records...)
		receivers[0].done(receivers[0].expect(records...)...)
	}
}

func isolatedTopics(t *T) {
	a, b := t.line(), t.line()
	ra, rb := a.receiver(), b.receiver()
	ofA, ofB := t.batch(5), t.batch(5)
	a.send(ofA...)
	b.send(ofB...)
	ra.done(ra.expect(ofA...)...)
	rb.done(rb.expect(ofB...)...)
	ra.none()
	rb.none()
}

func roleRoundTrip(t *T, role driver.Role) {
	l := t.lineOf(queueKind)
	l.topic.Name += ".role"
	l.topic.Role = role
	records := t.batch(5)
	for i := range records {
		records[i].Control = fullControl()
	}
	l.send(records...)
	r := l.receiver()
	r.done(r.expect(records...)...)
	r.close()
	l.empty()
}
