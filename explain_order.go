package wherry

import (
	"slices"
	"strings"
)

// What is said of consumers that keep what fails: sequences and broadcasts.

// Facts of sequences.
var (
	factKeyOrder = fact{"order", "The records of a key come in the order in which one sender sent them, at whatever receiver."}
	factOneOwner = fact{"one-owner", "While a delivery of a key is unsettled at one receiver, no other receiver gets any of that key."}
	factReEnter  = fact{"re-enter", "A tenure that is given up as a whole re-enters in publish order, without what was settled of it."}
	factSequence = fact{
		"engine/sequence-order",
		"In a sequence each key is handled in publish order, one message at a time, through failures, defers and panics, by whichever worker.",
	}
	factWaits = fact{
		"engine/sequence-waits",
		"In a sequence a message that failed keeps its key waiting until its retry, with the attempts counted, and no other key.",
	}
	factSkips = fact{
		"engine/sequence-skip",
		"A message of a sequence that used up its attempts is in the dead letters, byte for byte, and then its key goes on.",
	}
	factParks = fact{
		"engine/sequence-park",
		"A parked key is in the dead letters in publish order, and all of it is handled in that order after a redrive.",
	}
)

// Facts of broadcasts.
var (
	factAll       = fact{"all", "Every broadcast reader gets every record, and groups get theirs beside."}
	factNow       = fact{"now", "A reader from now gets what is sent after it was opened, however late its first Receive, and nothing from before."}
	factBroadcast = fact{"engine/broadcast", "Every broadcast consumer handles every message; one that fails is tried again there, and nowhere else."}
)

// sequenceKinds are the kinds in order by key.
var sequenceKinds = []Kind{KindSequence, KindGroupSequence}

// unproven reports whether the suite has no such case for the kind.
func (k Kind) unproven(f fact) bool {
	if strings.HasPrefix(f.clause, "engine/") {
		about := strings.HasPrefix(f.clause, "engine/sequence") || f == factBroadcast
		return (k == KindBroadcast || slices.Contains(sequenceKinds, k)) && !about
	}
	if k != KindBroadcast {
		return slices.Contains(sequenceKinds, k) && (f == factIndependent || strings.HasPrefix(f.clause, "lease/"))
	}
	return f != factAll && f != factNow && f != factHold
}

func (e *explainer) explainSequence() {
	if e.kind == KindGroupSequence {
		e.means("group", ByBroker, said("Every group gets every message, in an order of its own."))
		e.explainUnnamed()
	}
	e.means("order of a key", ByBroker, e.proven(factKeyOrder), e.proven(factOneOwner), e.proven(factReEnter))
	e.means("keys beside each other", ByEngine, e.proven(factSequence))
	e.means("waiting", ByEngine, saidf(
		"Once %d messages wait for a key, %d for all or %d bytes, their worker receives no more until less waits, and health says so.",
		e.source.sequence.perKey, e.source.sequence.total, e.source.sequence.bytes))
	crowded := said("A key for which as many wait as may is set aside while its first is tried again, before its attempts are used up.")
	alone := said("Another consumer of the source does not know, and handles what comes to it of such a key: run one.")
	switch e.source.sequence.onFailure {
	case Skip:
		e.means("on failure: skip", ByEngine, e.proven(factSkips))
	case Block:
		e.means("on failure: block", ByEngine,
			said("It is tried again with the last delay until it succeeds, and its key waits."),
			said("Only what is rejected, or deferred for longer than is allowed in all, is given up."))
	case FailAll:
		e.means("on failure: fail all", ByEngine,
			said("It and every later message of its key go to the dead letters, the later ones unseen. Which keys is known in memory."),
			alone, crowded)
	case Park:
		e.means("on failure: park", ByEngine, e.proven(factParks), said("Which keys are parked is known in memory."), alone, crowded)
	}
}

func (e *explainer) explainBroadcast() {
	e.means("broadcast", ByBroker, e.proven(factAll))
	switch from := e.source.from; {
	case from.Head:
		e.means("begin", ByBroker, said("With the oldest message that the broker still has, each time that it begins."))
	case !from.Time.IsZero():
		e.means("begin", ByBroker, saidf("With what was published at %s or later, each time that it begins.", from.Time.UTC().Format("2006-01-02 15:04:05 UTC")))
	default:
		e.means("begin", ByBroker, e.proven(factNow))
	}
	e.means("retries", ByEngine, e.proven(factBroadcast))
}

// blocks reports whether a message that fails is tried again without end.
func (e *explainer) blocks() bool {
	return e.source.manner == sequenced && e.source.sequence.onFailure == Block
}

// keptRetries says how failures are counted and delayed where the message stays with its consumer.
func (e *explainer) keptRetries() {
	if e.kind != KindBroadcast {
		e.means("attempts", ByEngine, e.proven(factWaits), said("They are counted in memory, and begin anew after a crash or a hand-over."))
	}
	e.means("delay", ByEngine, said("The message waits with its consumer, and holds no lane."))
}

// crashesOfKept is for a broker that outlives the process, or may, and messages that stay with their consumer.
func (e *explainer) crashesOfKept() {
	if e.kind == KindBroadcast {
		e.crashesOfBroadcast()
		return
	}
	info := e.broker.Info
	if e.known == KnownNot {
		e.crash("at any step", said("Where the broker forgets at exit, which is not known before the consumer runs, all that it has is lost; else:"))
	}
	back := []Statement{e.proven(factReleased), e.proven(factReEnter)}
	if info.Lease > 0 {
		back = []Statement{saidf("At the latest after %v, the lease:", info.Lease), e.proven(factExpires)}
	}
	again := func(text string) []Statement { return append([]Statement{said(text)}, back...) }
	e.crash(crashWaiting, e.proven(factKept))
	e.crash(crashBuffered, again("It comes again in its place.")...)
	e.crash(crashInHand, again("It comes again in its place; what its handler did so far is done again.")...)
	e.crash(crashHandled, again(e.repeats())...)
	if e.triesAgain() {
		e.crash(crashHeld, again("It comes again in its place, at attempt 1: attempts are counted in memory.")...)
	}
	if to := e.deadLetters(); to != "" {
		e.crash(crashBuried, again("It comes again in its place, and may be in "+to+" twice, with one id.")...)
	} else {
		e.crash(crashDropped, again("It comes again and is handled once more before it is dropped.")...)
	}
	if e.source.sequence.onFailure >= FailAll {
		e.crash("its key is set aside", said("That is forgotten: what comes of the key next is handled. Redrive before."))
	}
	e.crash(crashSettled, e.proven(factDone))
	switch {
	case e.known == KnownNot:
	case info.HasCount && e.source.sequence.onFailure != Block:
		e.crash(crashAlways, saidf("It is handled alone from %d deliveries on, and given up after %d, if it comes first then.",
			e.spec.suspectedAfter()+1, keptDelivered*e.spec.maxDelivered))
	default:
		e.crash(crashAlways, said("It comes again without end. Recover what can be recovered."))
	}
}

func (e *explainer) crashesOfBroadcast() {
	again := "The process that begins anew does not see it."
	if e.source.from.Head || !e.source.from.Time.IsZero() {
		again = "The process that begins anew begins where it is told to, and sees it again if that is before."
	}
	for _, at := range []string{crashWaiting, crashBuffered, crashInHand, crashHandled, crashHeld, crashSettled} {
		e.crash(at, said(again))
	}
}
