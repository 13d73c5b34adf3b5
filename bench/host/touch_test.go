package host_test

import (
	"runtime"
	"testing"

	"github.com/wherryhq/wherry/bench/host"
)

// What was touched is free again, and the process still has it: the next values of that size take none from the system. No
// other test may allocate meanwhile, so it is not parallel.
func TestTouch(t *testing.T) { //nolint:paralleltest // It measures the whole process.
	const size = 64 << 20
	var before, touched, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	host.Touch(size)
	runtime.ReadMemStats(&touched)
	if more := int64(touched.HeapInuse) - int64(before.HeapInuse); more > size/8 {
		t.Errorf("%d bytes are still in use", more)
	}
	if idle := int64(touched.HeapIdle - touched.HeapReleased); idle < size*7/8 {
		t.Errorf("the process has %d free bytes, want about %d", idle, size)
	}
	kept := make([][]byte, size/2/1024)
	for i := range kept {
		kept[i] = make([]byte, 1024)
	}
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	if more := int64(after.HeapSys) - int64(touched.HeapSys); more > size/8 {
		t.Errorf("%d bytes more were taken from the system", more)
	}
}
