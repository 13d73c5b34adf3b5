package drivertest

func queueCases() []Case {
	return []Case{
		{
			Name:     "receive/compete",
			Sentence: "Competing receivers share the records: each goes to one of them, once.",
			kinds:    shared, Run: competingReceivers,
		},
		{
			Name:     "receive/kept",
			Sentence: "What is sent to a queue, or to a declared group, before its first receiver is kept for it.",
			kinds:    settled, Run: keptForFirst,
		},
		{
			Name:     "receive/other-connection",
			Sentence: "Senders and receivers of different connections reach one another.",
			kinds:    kinds, Run: otherConnection,
		},
	}
}

func competingReceivers(t *T) {
	l := t.line()
	c := t.crowd()
	const members = 4
	for range members {
		r := l.receiver()
		r.none() // it is connected and has its share
		c.consume(r)
	}
	c.send(l.sender(), t.batch(t.h.Messages))
	rep := c.finish()
	rep.Reordered = nil
	if !rep.Clean() || rep.Settled != t.h.Messages {
		t.Errorf("%d receivers: %v", members, rep)
	}
	l.empty()
}

func keptForFirst(t *T) {
	l := t.line()
	records := t.keyed("k", 20)
	for i := range records {
		records[i].Key = []byte{'k', byte(i % 3)}
	}
	s := l.sender()
	s.send(records...)
	s.close()
	r := l.receiver()
	r.done(r.expect(records...)...)
	r.none()
}

func otherConnection(t *T) {
	l := t.line()
	r := l.receiver()
	records := t.batch(5)
	l.over(t.Open()).send(records...)
	r.done(r.expect(records...)...)
}
