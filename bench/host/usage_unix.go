//go:build unix

package host

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ProcessorTime is what the process has used of processors so far, in nanoseconds.
func ProcessorTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// PeakMemory is the most memory that the process ever had resident, in bytes, or 0 where it is not known. Linux tells it of
// this program alone; what getrusage says may be of the one that started it, and is in kilobytes or bytes.
func PeakMemory() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kilobytes, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(kilobytes), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
