//go:build !unix

package host

// ProcessorTime is 0: it is not known here.
func ProcessorTime() int64 { return 0 }

// PeakMemory is 0: it is not known here.
func PeakMemory() int64 { return 0 }
