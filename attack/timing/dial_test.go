package timing_test

import (
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry"
)

// A dial is a strategy that wants as many workers as it is set to.
type dial struct{ want atomic.Int64 }

// Scale implements [wherry.Scaler].
func (d *dial) Scale(wherry.ScaleSnapshot) int { return int(d.want.Load()) }

// between lets the dial set the number of workers, at once.
func (d *dial) between(least, most int) wherry.ConsumerOption {
	return wherry.WorkersBetween(least, most,
		wherry.ScaleBy(d), wherry.ScaleEvery(10*time.Millisecond), wherry.ScaleAfter(0), wherry.ScaleCooldown(0))
}
