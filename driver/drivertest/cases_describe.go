package drivertest

import (
	"time"

	"github.com/wherryhq/wherry/driver"
)

func describeCases() []Case {
	return []Case{{
		Name:     "describe/true",
		Sentence: "What a broker says of its senders and receivers before any is opened is what they say afterwards.",
		Needs:    []Ability{Describe}, kinds: shared, Run: describedTruly,
	}}
}

func describedTruly(t *T) {
	b, ok := t.Broker().(driver.Describer)
	if !ok {
		t.Fatalf("this broker is no Describer, though another was")
	}
	l := t.line()
	before := b.Describe(l.source())

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
	if info := r.r.Info(); before.Info != info {
		t.Errorf("it says %+v of its receivers; they say %+v", before.Info, info)
	}
	if _, revokes := r.r.(driver.Revoker); before.Revokes != revokes {
		t.Errorf("it says of its receivers that they revoke: %t; they do: %t", before.Revokes, revokes)
	}
	if after := b.Describe(l.source()); after != before {
		t.Errorf("it says %+v, after %+v", after, before)
	}
}
