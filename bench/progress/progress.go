// Package progress tells somebody who waits what is being done and how long it will still take.
package progress

import "time"

// A Step is something that takes time.
type Step struct {
	Name     string
	Expected time.Duration
}

// A Meter follows steps that are done one after another. The nil Meter is silent.
type Meter interface {
	// Plan says what is going to be done, before the first Begin.
	Plan(steps []Step)
	// Begin says that the next step is begun.
	Begin(name string)
	// End says that the step is over, with a short result: a rate, or why there is none.
	End(result string)
}
