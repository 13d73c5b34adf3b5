package gap

// Status is a snapshot of a tracker, for health, lag and tests.
type Status struct {
	// Commit is the lowest position that is not finished, and Next the one above all that was received or is known to be
	// finished from the commit position on.
	Commit, Next uint64
	// InHand positions are with a handler or wait for one, Released ones wait to be delivered again.
	InHand, Released int
	// Finished is how many positions above the commit position are finished, in how many Runs. Those that the log does not
	// have are among them. The lag of a partition is its end less Commit less Finished.
	Finished uint64
	Runs     int
	// State is how many bytes the state takes where there is room for all of it.
	State int
	// Paused is what [Tracker.Paused] says.
	Paused bool
}

// Status returns a snapshot.
func (t *Tracker) Status() Status {
	return Status{
		Commit:   t.Commit(),
		Next:     t.Next(),
		InHand:   t.open - len(t.released),
		Released: len(t.released),
		Finished: t.finished.count,
		Runs:     len(t.finished.runs()),
		State:    t.stateSize(),
		Paused:   t.Paused(),
	}
}
