//go:build !unix

package main

// processorTime and peakMemory are not known here.
func processorTime() int64 { return 0 }

func peakMemory() int64 { return 0 }
