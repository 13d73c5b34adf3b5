package wherry_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/drivertest"
)

// descriptions are brokers of every sort.
func descriptions() []driver.Description {
	ds := []driver.Description{{}}
	for _, with := range []func(d *driver.Description){
		func(d *driver.Description) { d.Info.Volatile = true },
		func(d *driver.Description) { d.Info.HasCount = true },
		func(d *driver.Description) { d.Info.Lease = time.Minute },
		func(d *driver.Description) { d.Holds = true },
		func(d *driver.Description) { d.Revokes = true },
	} {
		for _, d := range slices.Clone(ds) {
			with(&d)
			ds = append(ds, d)
		}
	}
	return ds
}

// found are the abilities of such a broker, as the suite finds them.
func found(d driver.Description, kind drivertest.Ability, inspects bool) []drivertest.Ability {
	all := []drivertest.Ability{drivertest.Queue, drivertest.Group, kind}
	add := func(has bool, a drivertest.Ability) {
		if has {
			all = append(all, a)
		}
	}
	add(inspects, drivertest.Inspect)
	add(d.Holds, drivertest.Hold)
	add(d.Info.Lease > 0, drivertest.Lease.Of(kind))
	add(d.Revokes, drivertest.Revoke.Of(kind))
	add(!d.Info.Volatile, drivertest.Durable.Of(kind))
	return all
}

// Each sentence about a broker is that of a case of the conformance suite, which such a broker has to pass.
func TestExplainSaysWhatTheSuiteProves(t *testing.T) {
	t.Parallel()
	cases := map[string]drivertest.Case{}
	for _, c := range drivertest.Cases() {
		cases[c.Name] = c
	}
	seen := map[string]bool{}
	check := func(e wherry.ConsumerExplanation, abilities []drivertest.Ability) {
		for _, s := range statementsOf(&e) {
			if s.Case == "" {
				continue
			}
			seen[s.Case] = true
			c, ok := cases[s.Case]
			switch {
			case !ok:
				t.Errorf("there is no case %s, which is to prove: %s", s.Case, s.Text)
			case c.Sentence != s.Text:
				t.Errorf("explain says %q, case %s %q", s.Text, s.Case, c.Sentence)
			case abilities != nil && !c.Applies(abilities):
				t.Errorf("case %s needs %v; the broker has %v", s.Case, c.Needs, abilities)
			}
		}
	}
	spread := wherry.NewTopic("spread", codec.Text{}, wherry.Fanout("g"))
	queueAndGroup := func(b interface {
		driver.Queuer
		driver.Grouper
	},
	) (queue, group wherry.Explanation) {
		q := wherry.Queue(b, texts("t"))
		g := wherry.Group(b, "g", spread)
		queue = wherry.Explain(wherry.Join(wherry.Consume(q, ackText), wherry.ConsumeBatch(q, ackTexts, wherry.NoDeadLetters())))
		group = wherry.Explain(wherry.Join(wherry.ConsumeBatch(g, ackTexts), wherry.Consume(g, ackText, wherry.NoDeadLetters())))
		return queue, group
	}
	for _, d := range descriptions() {
		for i, b := range []interface {
			driver.Queuer
			driver.Grouper
		}{saidBroker{d: d}, inspected{saidBroker{d: d}}} {
			queue, group := queueAndGroup(b)
			for _, e := range queue.Consumers {
				check(e, found(d, drivertest.Queue, i == 1))
			}
			for _, e := range group.Consumers {
				check(e, found(d, drivertest.Group, i == 1))
			}
		}
	}
	for _, d := range descriptions() {
		for i, b := range []ordering{saidBroker{d: d}, inspected{saidBroker{d: d}}} {
			for kind, e := range orderedOn(b) {
				for _, one := range e.Consumers {
					check(one, append(found(d, kind, i == 1), kind))
				}
			}
		}
	}
	for _, d := range descriptions() {
		for i, b := range []driver.Transactor{saidBroker{d: d}, inspected{saidBroker{d: d}}} {
			queue, group := transactedOn(b)
			for _, e := range queue.Consumers {
				check(e, append(found(d, drivertest.Queue, i == 1), drivertest.Transact))
			}
			for _, e := range group.Consumers {
				check(e, append(found(d, drivertest.Group, i == 1), drivertest.Transact))
			}
		}
	}
	for _, e := range orderedOn(mutePlain{}) {
		for _, one := range e.Consumers {
			check(one, nil)
		}
	}
	queue, group := queueAndGroup(mutePlain{})
	for _, e := range slices.Concat(queue.Consumers, group.Consumers) {
		check(e, nil)
	}
	if len(seen) < 30 {
		t.Errorf("only %d cases are referred to: %v", len(seen), fmt.Sprint(seen))
	}
}

// transactedOn explains consumers that work in transactions.
func transactedOn(b driver.Transactor) (queue, group wherry.Explanation) {
	spread := wherry.NewTopic("spread", codec.Text{}, wherry.Fanout("g"))
	q, g := wherry.Transacted(b, texts("t")), wherry.GroupTransacted(b, "g", spread)
	queue = wherry.Explain(wherry.Join(wherry.Consume(q, ackText), wherry.Consume(q, ackText, wherry.NoDeadLetters())))
	return queue, wherry.Explain(wherry.Consume(g, ackText))
}

// ordering is a broker with sequences and broadcasts.
type ordering interface {
	driver.Sequencer
	driver.GroupSequencer
	driver.Broadcaster
}

// orderedOn explains consumers that keep what fails, of each kind.
func orderedOn(b ordering) map[drivertest.Ability]wherry.Explanation {
	plain, spread := keyedTexts("t"), keyedTexts("spread", wherry.Fanout("g"))
	all := map[drivertest.Ability]wherry.Explanation{
		drivertest.Broadcast: wherry.Explain(wherry.Join(wherry.Consume(wherry.Broadcast(b, spread), ackText),
			wherry.Consume(wherry.Broadcast(b, spread, wherry.FromHead()), ackText),
			wherry.Consume(wherry.Broadcast(b, spread, wherry.FromTime(time.Unix(0, 0))), ackText))),
	}
	var sequences, groups []wherry.Runner
	for _, policy := range []wherry.FailurePolicy{wherry.Skip, wherry.Block, wherry.FailAll, wherry.Park} {
		sequences = append(sequences, wherry.Consume(wherry.Sequence(b, plain, wherry.OnFailure(policy)), ackText))
		groups = append(groups, wherry.Consume(wherry.GroupSequence(b, "g", spread, wherry.OnFailure(policy)), ackText))
	}
	sequences = append(sequences, wherry.Consume(wherry.Sequence(b, plain), ackText, wherry.NoDeadLetters()))
	all[drivertest.Sequence] = wherry.Explain(wherry.Join(sequences...))
	all[drivertest.GroupSequence] = wherry.Explain(wherry.Join(groups...))
	return all
}

func statementsOf(e *wherry.ConsumerExplanation) []wherry.Statement {
	var all []wherry.Statement
	for _, m := range e.Means {
		all = append(all, m.Says...)
	}
	for _, c := range e.Crashes {
		all = append(all, c.Then...)
	}
	return all
}
