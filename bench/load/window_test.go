package load

import (
	"testing"
	"time"
)

// What was there before the window, and what comes after its end, is in no number of the run.
func TestWindow(t *testing.T) {
	t.Parallel()
	w := openWindow()
	w.cpu += int64(time.Hour)
	run := w.close(7, w.begun.Add(3*time.Second))
	if run.Messages != 7 || run.ElapsedNS != int64(3*time.Second) {
		t.Errorf("%d messages in %v, want 7 in 3s", run.Messages, time.Duration(run.ElapsedNS))
	}
	if run.CPUNS >= 0 {
		t.Errorf("%v of the processors are counted, and what was used before is in it", time.Duration(run.CPUNS))
	}
}
