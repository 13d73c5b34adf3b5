package load

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/bench/ledger"
)

func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, l := newGate(3), ledger.New(1)
		passed := make(chan int, 4)
		lanes := []*ledger.Lane{l.Lane(nil), l.Lane(nil), l.Lane(nil)}
		for i, lane := range lanes[:2] {
			go func() {
				g.holdOnce(lane)
				passed <- i
			}()
		}
		if err := g.wait(2, time.Second); err != nil {
			t.Error(err)
		}
		if err := g.wait(3, time.Second); err == nil || !strings.Contains(err.Error(), "only 2 of 3 handlers had a message within 1s") {
			t.Errorf("got %v", err)
		}
		go func() {
			g.holdOnce(lanes[2])
			passed <- 2
		}()
		if err := g.wait(3, time.Second); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(passed) != 0 {
			t.Errorf("%d passed a gate that is closed", len(passed))
		}
		g.open()
		g.open()
		synctest.Wait()
		g.holdOnce(lanes[0])
		if len(passed) != 3 {
			t.Errorf("%d passed a gate that is open", len(passed))
		}
	})
}
