package drivertest

import (
	"time"

	"github.com/wherryhq/wherry/driver"
)

func describeCases() []Case {
	return []Case{
		{
			Name:     "describe/true",
			Sentence: "What a broker says of its senders and receivers before any is opened is what they say afterwards.",
			Needs:    []Ability{Describe}, kinds: kinds, Run: describedTruly,
		},
		{
			Name:     "transact/describe",
			Sentence: "What a broker says of its receivers of transactions before any is opened is what they say afterwards.",
			Needs:    []Ability{Describe, Transact, Queue}, Run: transactionsDescribed,
		},
	}
}

// described is what the broker says of receivers that are opened with s. It must not declare what it speaks of.
func (l *line) described(s driver.Source) driver.Description {
	t := l.t
	b, ok := l.b.(driver.Describer)
	if !ok {
		t.Fatalf("this broker is no Describer, though another was")
	}
	said := b.Describe(s)
	t.wantNoTopic("OpenSender under Verify after Describe, which declares nothing", l.verifySender(l.target()))
	return said
}

// wantTold compares with what a receiver says.
func (t *T) wantTold(said driver.Description, info driver.Info, revokes bool) {
	if said.Info != info {
		t.Errorf("it says %+v of its receivers; they say %+v", said.Info, info)
	}
	if said.Revokes != revokes {
		t.Errorf("it says of its receivers that they revoke: %t; they do: %t", said.Revokes, revokes)
	}
}

func transactionsDescribed(t *T) {
	l := t.lineOf(queueKind)
	said := l.described(l.transactedSource())
	x := l.transacted()
	_, revokes := x.r.(driver.Revoker)
	t.wantTold(said, x.r.Info(), revokes)
}

func describedTruly(t *T) {
	l := t.line()
	before := l.described(l.source())

	holder, holds := l.sender().s.(driver.Holder)
	longest := time.Duration(0)
	if holds {
		longest = holder.MaxHold()
	}
	if before.Holds != holds || before.MaxHold != longest {
		t.Errorf("it says of its senders that they hold: %t, for up to %v; they do: %t, for up to %v",
			before.Holds, before.MaxHold, holds, longest)
	}
	r := l.receiver()
	_, revokes := r.r.(driver.Revoker)
	t.wantTold(before, r.r.Info(), revokes)
	if b, ok := l.b.(driver.Describer); ok {
		if after := b.Describe(l.source()); after != before {
			t.Errorf("it says %+v, after %+v", after, before)
		}
	}
}
