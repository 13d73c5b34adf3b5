package wherry

import (
	"fmt"
	"time"
)

// A Crash is what becomes of a message when its process dies, or its handler panics, at one step of its way.
type Crash struct {
	At   string      `json:"at"`
	Then []Statement `json:"then"`
}

// The steps of a message, in their order.
const (
	crashWaiting  = "before it is received"
	crashBuffered = "received, not begun"
	crashCollect  = "in a batch that is not full"
	crashInHand   = "with its handler"
	crashHandled  = "handled, not settled"
	crashCopied   = "its retry is confirmed, the original not settled"
	crashCommit   = "its transaction is being committed"
	crashHeld     = "its retry waits"
	crashBuried   = "its dead letter is confirmed, the original not settled"
	crashDropped  = "given up, not settled"
	crashSettled  = "settled"
	crashAlways   = "each time that it is handled"
	crashPanic    = "its handler panics"
)

// crashes says what a crash at each step does.
func (e *explainer) crashes() {
	switch {
	case e.forgets():
		e.crashesOfForgetful()
	case e.source.manner.keeps():
		e.crashesOfKept()
	default:
		e.crashesOfLasting()
	}
	if !e.triesAgain() {
		e.crash(crashPanic, said("It has failed, and is given up as by any other failure: nothing is tried again."))
	} else {
		e.crash(crashPanic, e.proven(factPanic))
	}
}

// crashesOfForgetful is for a broker that dies with the process.
func (e *explainer) crashesOfForgetful() {
	lost := said("It is lost with the process, as all that the broker has.")
	e.crash(crashWaiting, lost)
	e.crash(crashBuffered, lost)
	if e.out.Batches {
		e.crash(crashCollect, lost)
	}
	e.crash(crashInHand, said("It is lost with the process; what its handler did so far is not taken back."))
	e.crash(crashHandled, said("It is lost with the process after its work was done, and does not come again."))
	switch {
	case e.source.manner == transacted:
		e.crash(crashCommit, lost)
		if e.triesAgain() {
			e.crash(crashHeld, lost)
		}
	case e.triesAgain() && e.source.manner.keeps():
		e.crash(crashHeld, lost)
	case e.triesAgain():
		e.crash(crashCopied, said("Both are lost."))
		e.crash(crashHeld, lost)
	}
	if e.deadLetters() != "" && e.source.manner != transacted {
		e.crash(crashBuried, said("Both are lost."))
	}
	e.crash(crashSettled, e.proven(factDone))
}

// crashesOfLasting is for a broker that outlives the process, or may.
func (e *explainer) crashesOfLasting() {
	info := e.broker.Info
	if e.known == KnownNot {
		e.crash("at any step", said("Where the broker forgets at exit, which is not known before the consumer runs, all that it has is lost; else:"))
	}
	back := []Statement{e.proven(factReleased)}
	if info.Lease > 0 {
		back = []Statement{saidf("At the latest after %v, the lease:", info.Lease), e.proven(factExpires)}
	}
	again := func(text string) []Statement { return append([]Statement{said(text)}, back...) }
	e.crash(crashWaiting, e.proven(factKept))
	e.crash(crashBuffered, again("It comes again at the same attempt.")...)
	if e.out.Batches {
		e.crash(crashCollect, again("It comes again at the same attempt.")...)
	}
	e.crash(crashInHand, again("It comes again at the same attempt; what its handler did so far is done again.")...)
	if e.source.manner == transacted {
		e.crashesOfTransactions(again)
	} else {
		e.crash(crashHandled, again(e.repeats())...)
	}
	if e.spec.retry.MaxAttempts > 1 && e.source.manner != transacted {
		e.crash(crashCopied, again("Both are there: the original comes again, and so does the retry, with one id.")...)
	}
	switch {
	case e.known == KnownNot || e.spec.retry.MaxAttempts == 1:
	case e.broker.Holds:
		e.crash(crashHeld, e.proven(factHeld))
	default:
		e.crash(crashHeld, said("It waits in its hold topic until a consumer runs that moves it on."), known(factHoldTopic))
	}
	switch to := e.deadLetters(); {
	case to != "" && e.source.manner == transacted: // it is part of the transaction
	case to != "":
		e.crash(crashBuried, again("It comes again, and may be in "+to+" twice, with one id.")...)
	default:
		e.crash(crashDropped, again("It comes again and is handled once more before it is dropped.")...)
	}
	e.crash(crashSettled, e.proven(factDone))
	switch {
	case e.known == KnownNot:
	case info.HasCount && e.spec.maxDelivered == unlimited:
		e.crash(crashAlways, said("It comes again without end: what is given up once is not given up for that (MaxDelivered). Recover what can be recovered."))
	case info.HasCount:
		to := "is dropped"
		if e.deadLetters() != "" {
			to = "is in the dead letters, reason " + string(ReasonAbandoned)
		}
		e.crash(crashAlways, saidf("After %d deliveries without an outcome it %s. From half of that on it is handled alone.", e.spec.maxDelivered, to))
	default:
		e.crash(crashAlways, said("The broker does not count: it comes again without end. Recover what can be recovered."))
	}
}

// repeats is what handling again means, by the level, and for how long a message is at that step.
func (e *explainer) repeats() string {
	text := e.repeat()
	if info := e.broker.Info; e.known != KnownNot {
		linger := info.SettleLinger
		setDefault(&linger, time.Millisecond)
		text += fmt.Sprintf(" What is handled waits up to %v to be settled with others, and no longer than there are %d.", linger, max(info.SettleBatch, 1))
	}
	return text
}

func (e *explainer) repeat() string {
	switch e.out.Delivery.Level {
	case EffectivelyOnce:
		return "It comes again; its mark is there with its effects, so that the handler is not called."
	case DeduplicatedApart:
		return "It comes again. Where its mark was set the handler is not called, else it is, once the claim has ended."
	default:
		return "It comes again and is handled twice."
	}
}

func (e *explainer) crash(at string, then ...Statement) {
	e.out.Crashes = append(e.out.Crashes, Crash{At: at, Then: then})
}
