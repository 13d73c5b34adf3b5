package drivertest

import (
	"slices"
	"testing"
)

// A Case is one clause of the contract.
type Case struct {
	// Name is "subject/clause", with the kind of receiver in front where the case holds for several.
	Name string
	// Sentence states the contract. It is printed when the case fails.
	Sentence string
	// Needs are the abilities without which there is no such case.
	Needs []Ability
	// Hooks are the names of the harness's hooks that it uses.
	Hooks []string
	// Alone keeps other cases from running at the same time.
	Alone bool
	// Run performs the case, on a goroutine of its own. It reports by the methods of t, as a test does.
	Run func(t *T)

	// kinds are the kinds of receiver for which it holds; kind is the one of this instance.
	kinds []kind
	kind  kind
}

// Cases returns every case there is, in the order in which they run.
func Cases() []Case {
	var all []Case
	for _, group := range [][]Case{
		topologyCases(), openCases(), sendCases(), acceptCases(), cancelCases(), receiveCases(), settleCases(), closeCases(), boundCases(),
		queueCases(), groupCases(), broadcastCases(), sequenceCases(), transactCases(), transactEndCases(), transactFaultCases(),
		holdCases(), delayCases(), leaseCases(), revokeCases(), inspectCases(), inspectReceiverCases(), readyCases(), describeCases(), foreignCases(), faultCases(), answerCases(), loadCases(),
		engineCases(), engineEndCases(), engineStopCases(), engineFaultCases(), engineSequenceCases(), engineTransactCases(),
	} {
		for _, c := range group {
			all = append(all, c.instances()...)
		}
	}
	return all
}

// instances returns the case once for each kind that it holds for.
func (c Case) instances() []Case {
	if len(c.kinds) == 0 {
		return []Case{c}
	}
	var all []Case
	for _, k := range c.kinds {
		one := c
		one.kinds, one.kind = nil, k
		one.Needs = []Ability{k.needs}
		for _, a := range c.Needs {
			if slices.Contains(ofReceivers, a) {
				a = a.Of(k.needs)
			}
			one.Needs = append(one.Needs, a)
		}
		one.Name = k.name + "/" + c.Name
		all = append(all, one)
	}
	return all
}

// Applies reports whether a broker with these abilities has the case.
func (c Case) Applies(found []Ability) bool {
	for _, a := range c.Needs {
		if !slices.Contains(found, a) {
			return false
		}
	}
	return true
}

// Check runs the case and returns what it found wrong: nil, or all of it joined. It does not fail t.
func (c Case) Check(t *testing.T, h Harness) error {
	t.Helper()
	h = h.withDefaults()
	return inBubble(t, h, func(t *testing.T) error { return execute(t, h, c) })
}
