package load

import (
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/host"
)

// A window is the time of a run that counts.
type window struct {
	begun time.Time
	cpu   int64
}

func openWindow() window { return window{begun: time.Now(), cpu: host.ProcessorTime()} }

// close makes a run of what happened in the window. Its end is a moment before now, or now if it is zero.
func (w window) close(messages int64, end time.Time) document.Run {
	now, cpu := time.Now(), host.ProcessorTime()
	if end.IsZero() {
		end = now
	}
	return document.Run{Messages: messages, ElapsedNS: int64(end.Sub(w.begun)), CPUNS: cpu - w.cpu}
}
