package driver

import "time"

// Control is the engine's own data about a message. It travels beside the user's headers: a broker that carries Go values
// carries it as it is, every other encodes it with [Control.Append] under the reserved header [ControlHeader] and parses
// it with [ParseControl]. It is never read from what users set. The zero Control is a foreign or new message: that of a
// record without the header, and of one whose header does not parse, of which nothing is kept.
type Control struct {
	// Attempt is 1 + the handler calls that ended in failure; 0 means 1.
	Attempt int
	// Published is when the message was first published. Of a foreign record it is zero, or the broker's own time of it.
	Published Stamp
	// Defers and Deferred count the times it was deferred and for how long in all.
	Defers   int
	Deferred time.Duration
	// Redriven marks what was brought back from the dead letters.
	Redriven bool
	// Hold is set while the message waits in a hold topic.
	Hold *HoldData
	// Failure is set once a handler call failed, on every dead letter, and on what was redriven.
	Failure *Failure
}

// Clone returns a copy that shares nothing with c.
func (c Control) Clone() Control {
	if c.Hold != nil {
		h := *c.Hold
		c.Hold = &h
	}
	if c.Failure != nil {
		f := *c.Failure
		c.Failure = &f
	}
	return c
}

// HoldData tells a hold consumer where a record goes and when.
type HoldData struct {
	Topic  string
	Group  string
	Fanout bool
	Due    Stamp
	// Hop is when it leaves the hold topic that it is in: Due, or earlier when it goes through several.
	Hop Stamp
}

// Failure is what is known about a message's failures.
type Failure struct {
	Topic string // where it failed
	Group string // the group that failed it; empty in a queue
	// Reason is why it was dead-lettered ("rejected", "exhausted", …); empty on a retry.
	Reason    string
	First     string // the text of the first error
	Last      string // and of the last
	FirstAt   Stamp
	LastAt    Stamp
	Attempts  int // failed handler calls
	Delivered int // the broker's count at the time; 0 unknown
	// Redrives are the marks of the redrives that brought the message back, the latest last and dots between them. It is what
	// the Failure of a redriven message has before it fails again.
	Redrives string
}
