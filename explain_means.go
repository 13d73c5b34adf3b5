package wherry

import (
	"fmt"

	"github.com/wherryhq/wherry/driver"
)

// A fact is a sentence about brokers that a case of the conformance suite proves. A test compares the sentences, since this
// package cannot import the suite.
type fact struct{ clause, sentence string }

// Facts that hold for every way to receive.
var (
	factKept     = fact{"receive/kept", "What is sent to a queue, or to a declared group, before its first receiver is kept for it."}
	factDone     = fact{"settle/done", "A delivery that was settled as Done is over: it does not come again, and nothing of it is left."}
	factReleased = fact{"close/broker-returns-unsettled", "What is unsettled when its broker connection closes comes to another connection."}
	factClosed   = fact{
		"close/returns-unsettled", "What is unsettled when its receiver closes comes to another: the same id, the attempt unchanged, and the " +
			"broker's count, where there is one, one higher.",
	}
	factHold     = fact{"hold/due", "A held record arrives whole when it is due, and never earlier."}
	factHeld     = fact{"hold/connection-closed", "A held record does not need the connection that sent it."}
	factExtended = fact{
		"lease/extend", "Deliveries that are extended stay with their receiver, however long and however many wait, and can be settled.",
	}
	factExpires = fact{"lease/expires", "A delivery that is neither settled nor extended within its lease comes to another receiver, as it was."}
	factRevoked = fact{
		"revoke/settle-until",
		"A tenure that ends is told; what is settled of it before Until is settled, and the rest is given to another when Done is called.",
	}
	factDepth    = fact{"inspect/counts", "Depth counts what is ready and what is in flight, or says -1 where it cannot know."}
	factCompete  = fact{"receive/compete", "Competing receivers share the records: each goes to one of them, once."}
	factAttempts = fact{
		"engine/attempts", "The attempt starts at 1 and is 1 + the calls that failed, and no retry comes earlier than its delay.",
	}
	factDeadLetter = fact{
		"engine/dead-letter", "After exactly MaxAttempts failed calls a message is in the dead letters, byte for byte, with its id, key, " +
			"headers, counts, and first and last error.",
	}
	factPanic = fact{"engine/panic", "A handler that panics has failed: its message is tried again, and others go on."}
	factBatch = fact{"engine/batch", "The messages of a batch end as their outcomes say: one that failed comes again alone."}
)

// Facts of one kind alone, and of none.
var (
	factIndependent = fact{"independent", "Every group gets every record, whatever the others do with theirs."}
	factGroupRetry  = fact{"engine/group-retry", "A retry in one group reaches that group alone."}
	factHoldTopic   = fact{"topology/hold", "A topic in the role of a hold takes records and gives them back whole, with their hold data."}
)

// kind is how the source gets its messages.
func (s *sourceSpec) kind() Kind {
	switch {
	case s.manner == broadcasting:
		return KindBroadcast
	case s.manner == sequenced && s.group != "":
		return KindGroupSequence
	case s.manner == sequenced:
		return KindSequence
	}
	if s.group != "" {
		return KindGroup
	}
	return KindQueue
}

// explainKind says what is said of one kind only. A new kind has a method here, a constant, and its place in sourceSpec.kind.
func (e *explainer) explainKind() {
	if e.source.manner == transacted {
		e.explainTransactions()
	}
	switch e.kind {
	case KindQueue:
		e.explainQueue()
	case KindGroup:
		e.explainGroup()
	case KindSequence, KindGroupSequence:
		e.explainSequence()
	case KindBroadcast:
		e.explainBroadcast()
	}
}

func (e *explainer) explainQueue() {
	e.means("queue", ByBroker, e.proven(factCompete))
}

func (e *explainer) explainGroup() {
	e.means("group", ByBroker, e.proven(factIndependent), e.proven(factCompete))
	e.means("retry of the group", ByBroker, e.proven(factGroupRetry))
	e.explainUnnamed()
}

// explainUnnamed notes a group that may be misspelt.
func (e *explainer) explainUnnamed() {
	if text := e.source.unnamed(); text != "" {
		e.means("group by another name", ByBroker, said(text))
	}
}

// shared says what is said of every kind that settles.
func (e *explainer) shared() {
	info := e.broker.Info
	if !e.source.manner.keeps() {
		e.means("attempts", ByEngine, e.proven(factAttempts))
	}
	switch {
	case e.source.manner.keeps():
		e.keptRetries()
	case e.known == KnownNot:
		e.means("delay", Unknown, said("By the broker where it can hold a record, else by hold topics."))
	case e.broker.Holds:
		e.means("delay", ByBroker, e.proven(factHold))
	default:
		e.means("delay", ByEngine, said("A copy waits in the hold topic of its delay and is moved on by a running consumer."), known(factHoldTopic))
	}
	if to := e.deadLetters(); to == "" {
		e.means("dead letters", Absent, said("What is rejected or given up is dropped, with an event."))
	} else {
		how := "The copy to " + to + " is confirmed before the original is settled."
		if e.source.manner == transacted {
			how = "The copy to " + to + " is part of the transaction that settles the original."
		}
		says := []Statement{said(how)}
		if e.source.manner != sequenced || e.source.sequence.onFailure == Skip {
			says = append(says, e.proven(factDeadLetter))
		}
		e.means("dead letters", ByEngine, says...)
	}
	if e.out.Batches {
		e.means("batches", ByEngine, e.proven(factBatch))
	}
	e.explainCount()
	e.either("lease", info.Lease > 0, factExtended,
		"A delivery stays with its receiver until it is settled or the receiver ends.")
	revoked := e.proven(factRevoked)
	if e.kind == KindBroadcast {
		revoked = said("A tenure that ends is told; what is not settled of it comes to this reader again.")
	}
	e.eitherSays("revocation", e.broker.Revokes, revoked, "The broker takes nothing back while the receiver lives.")
	if _, ok := e.source.broker.(driver.Inspector); ok {
		e.means("backlog", ByBroker, e.proven(factDepth))
	} else {
		e.means("backlog", Absent, said("The broker does not tell what waits: health shows no backlog, and a stall only of what is in hand."))
	}
	if e.forgets() {
		e.means("emptying at the stop", ByEngine,
			said("A stop of the whole Run goes on until the broker is empty, within the drain time; a stop of this consumer alone does not."))
	}
}

// explainCount says what the broker's count of deliveries is worth. A reader's are its own, and go to nobody else.
func (e *explainer) explainCount() {
	counted, uncounted := e.proven(factClosed), "The broker does not count: a message that kills its process each time comes again without end."
	switch {
	case e.kind == KindBroadcast:
		counted, uncounted = said("The broker counts how often a message came to this reader."), "The broker does not count."
	case e.forgets():
		uncounted = "The broker does not count."
	}
	e.eitherSays("count of deliveries", e.broker.Info.HasCount, counted, uncounted)
}

// either is native where has, and else absent with a text. Before it is known it is neither.
func (e *explainer) either(what string, has bool, f fact, without string) {
	e.eitherSays(what, has, e.proven(f), without)
}

// eitherSays is either with a sentence of its own.
func (e *explainer) eitherSays(what string, has bool, with Statement, without string) {
	switch {
	case e.known == KnownNot:
		e.means(what, Unknown)
	case has:
		e.means(what, ByBroker, with)
	default:
		e.means(what, Absent, said(without))
	}
}

func (e *explainer) means(what string, how How, says ...Statement) {
	if says == nil {
		says = []Statement{}
	}
	e.out.Means = append(e.out.Means, Means{What: what, How: how, Says: says})
}

func said(text string) Statement { return Statement{Text: text} }

func saidf(format string, args ...any) Statement { return said(fmt.Sprintf(format, args...)) }

// proven is a fact of the consumer's kind.
func (e *explainer) proven(f fact) Statement {
	if e.kind.unproven(f) {
		return said(f.sentence)
	}
	return Statement{Text: f.sentence, Case: string(e.kind) + "/" + f.clause}
}

// known is a fact of no kind.
func known(f fact) Statement { return Statement{Text: f.sentence, Case: f.clause} }
