package wherry

import (
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
)

// A handler that is not known to be quick begins with a reading of the clock that is its own: lanes that compute may have kept the
// clock's timer from its processor. Where all are quick each Receive brings a fresh one.
func TestHandlersBeginWithATimeThatIsNotOld(t *testing.T) {
	t.Parallel()
	r := &running{}
	w := &worker{r: r}
	old := time.Now().Add(-time.Second)
	r.clock.cached.Store(old.UnixNano()) // as if its timer had not run
	if got := time.Since(w.nowLocked().Time()); got > time.Second/2 {
		t.Errorf("a handler that is not quick begins %v ago", got)
	}
	for !w.pace.Proven() {
		w.pace.Begin(1)
		w.pace.End()
	}
	if got := w.nowLocked(); got != driver.StampOf(old) {
		t.Errorf("a quick handler begins at %v, want the reading from before", got.Time())
	}
	r.clock.set(w.pace.Begin(1))
	if got := time.Since(w.nowLocked().Time()); got > time.Second/2 {
		t.Errorf("after a Receive a quick handler begins %v ago", got)
	}
}
