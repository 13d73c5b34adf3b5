package gap_test

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/driver/gap"
)

// A fetch leaves out what is paused, and says why.
func ExampleTracker_Paused() {
	t := gap.New(gap.Config{MaxState: 4096, MaxSpan: 1000}, 0)
	var waiter driver.Waiter = waiting{t}
	fetch := func(_ context.Context, from uint64) (next uint64) {
		for next = from; !t.Paused(); next++ {
			if _, err := t.Receive(next); err != nil {
				fmt.Println(err)
			}
		}
		return next
	}

	next := fetch(context.Background(), 0)
	fmt.Println(next, waiter.Waiting())
	for p := range next {
		if err := t.Done(p); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Printf("%d %q\n", t.Commit(), waiter.Waiting())
	// Output:
	// 1000 log window full behind position 0
	// 1000 ""
}

// waiting is the receiver of the partition.
type waiting struct{ t *gap.Tracker }

func (w waiting) Waiting() string { return w.t.Waiting() }

// The place beside the commit may hold anything. What is not a state of this log at this position is not used, and not lost.
func ExampleTracker_Restore() {
	t := gap.New(gap.Config{MaxState: 4096}, 100)
	err := t.Restore("consumer-7", math.MaxUint64)
	fmt.Println(errors.Is(err, gap.ErrState), t.Next())
	// Output:
	// true 100
}

// The lag of a partition is what is not finished up to its end.
func ExampleTracker_Status() {
	t := gap.New(gap.Config{MaxState: 4096}, 100)
	for p := uint64(100); p < 110; p++ {
		if _, err := t.Receive(p); err != nil {
			fmt.Println(err)
		}
	}
	for p := uint64(101); p < 110; p++ {
		if err := t.Done(p); err != nil {
			fmt.Println(err)
		}
	}
	s := t.Status()
	const end = 130 // of the log
	fmt.Println("lag", end-s.Commit-s.Finished, "in", s.Runs, "run of", s.State, "bytes")
	// Output:
	// lag 21 in 1 run of 12 bytes
}
