//go:build unix

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processorTime is what the process has used of processors so far, in nanoseconds.
func processorTime() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// peakMemory is the most memory that the process had resident, in bytes, or 0 where it cannot be known. What getrusage says
// may be of the process that started this one.
func peakMemory() int64 {
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
