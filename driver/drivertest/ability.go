package drivertest

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/wherryhq/wherry/driver"
)

// An Ability is something that a broker, its senders or its receivers can do. It is found in method sets and in
// [driver.Info], and nowhere else.
type Ability string

// The abilities of brokers, of senders, and of receivers.
const (
	Queue         Ability = "queue"          // driver.Queuer
	Group         Ability = "group"          // driver.Grouper
	Broadcast     Ability = "broadcast"      // driver.Broadcaster
	Sequence      Ability = "sequence"       // driver.Sequencer
	GroupSequence Ability = "group-sequence" // driver.GroupSequencer
	Transact      Ability = "transact"       // driver.Transactor
	Declare       Ability = "declare"        // driver.Declarer
	Inspect       Ability = "inspect"        // driver.Inspector
	Describe      Ability = "describe"       // driver.Describer

	Accept Ability = "accept" // driver.Accepter
	Hold   Ability = "hold"   // driver.Holder
	Sized  Ability = "sized"  // Limits().MaxRecord is set

	// Lease and those below it are found for each way to receive; see [Ability.Of].
	Lease   Ability = "lease"   // driver.Extender, and Info().Lease is set
	Revoke  Ability = "revoke"  // driver.Revoker
	Waiting Ability = "waiting" // driver.Waiter
	Share   Ability = "share"   // driver.Sharer
	// InspectReceiver is for receivers what Inspect is for brokers.
	InspectReceiver Ability = "inspect-receiver" // driver.ReceiverInspector

	Delay   Ability = "delay"   // Info().MaxDelay is set
	Durable Ability = "durable" // Info().Volatile is not set
	// Volatile is the contrary of Durable.
	Volatile Ability = "volatile" // Info().Volatile is set
)

// ofReceivers are the abilities that receivers of one kind may have and those of another lack.
var ofReceivers = []Ability{Lease, Revoke, Waiting, Share, InspectReceiver, Delay, Durable, Volatile}

// Of is the ability a of the receivers of one kind: Lease.Of(Queue) is "queue lease". Without a kind a receiver's ability
// is that of any.
func (a Ability) Of(kind Ability) Ability { return kind + " " + a }

// Find returns the abilities of the harness's broker, of its senders, and of its receivers, found on a topic of their
// own. It fails t when something cannot be opened.
func Find(t *testing.T, h Harness) []Ability {
	t.Helper()
	found, _ := probe(t, h)
	return found
}

// probe returns the abilities, and which hooks the harness has once it is set up.
func probe(t *testing.T, h Harness) (found []Ability, hooks map[string]bool) {
	t.Helper()
	h = h.withDefaults()
	err := inBubble(t, h, func(t *testing.T) error {
		return execute(t, h, Case{Name: "abilities", Run: func(t *T) {
			hooks = t.h.hooks()
			found = t.abilities()
		}})
	})
	if err != nil {
		t.Fatalf("finding the broker's abilities: %v", err)
	}
	return found, hooks
}

// inBubble calls f, in a bubble when the harness is virtual.
func inBubble(t *testing.T, h Harness, f func(t *testing.T) error) error {
	t.Helper()
	if !h.Virtual {
		return f(t)
	}
	var err error
	synctest.Test(t, func(t *testing.T) { err = f(t) })
	return err
}

func (t *T) abilities() []Ability {
	var found []Ability
	add := func(has bool, a Ability) {
		if has && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	b := t.Broker()
	for _, k := range kinds {
		add(k.can(b), k.needs)
	}
	_, ok := b.(driver.Transactor)
	add(ok, Transact)
	_, ok = b.(driver.Declarer)
	add(ok, Declare)
	_, ok = b.(driver.Inspector)
	add(ok, Inspect)
	_, ok = b.(driver.Describer)
	add(ok, Describe)

	ctx := t.soon()
	for _, k := range kinds {
		if !k.can(b) {
			continue
		}
		l := t.lineOf(k)
		s, err := b.OpenSender(ctx, driver.Target{Topic: l.topic})
		if err != nil {
			t.Fatalf("OpenSender on a topic for a %s: %v", k.name, err)
		}
		_, ok := s.(driver.Accepter)
		add(ok, Accept)
		_, ok = s.(driver.Holder)
		add(ok, Hold)
		add(s.Limits().MaxRecord > 0, Sized)
		r, err := k.open(ctx, b, l.source())
		if err != nil {
			t.Fatalf("opening a %s: %v", k.name, err)
		}
		t.receiverAbilities(r, func(has bool, a Ability) {
			add(has, a)
			add(has, a.Of(k.needs))
		})
	}
	return found
}

func (t *T) receiverAbilities(r driver.Receiver, add func(bool, Ability)) {
	info := r.Info()
	_, extends := r.(driver.Extender)
	if extends != (info.Lease > 0) && !extends {
		t.Errorf("Info().Lease is %v, but the receiver is no Extender", info.Lease)
	}
	if _, tells := t.Broker().(driver.Inspector); info.Volatile && !tells {
		t.Errorf("Info().Volatile is set, but the broker is no Inspector: nobody can tell whether it is empty at a stop")
	}
	add(extends && info.Lease > 0, Lease)
	_, ok := r.(driver.Revoker)
	add(ok, Revoke)
	_, ok = r.(driver.Waiter)
	add(ok, Waiting)
	_, ok = r.(driver.Sharer)
	add(ok, Share)
	_, ok = r.(driver.ReceiverInspector)
	add(ok, InspectReceiver)
	add(info.MaxDelay > 0, Delay)
	add(!info.Volatile, Durable)
	add(info.Volatile, Volatile)
}
