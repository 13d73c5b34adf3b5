package scenario

import "sync/atomic"

// A finish tells when enough messages are through, and holds the handlers there, so that nothing is handled beyond.
type finish struct {
	n    int64
	seen atomic.Int64
	all  chan struct{} // closed with the last message
	free chan struct{} // closed by release
}

func newFinish(n int) *finish {
	return &finish{n: int64(n), all: make(chan struct{}), free: make(chan struct{})}
}

// pass counts messages of one call. The call that brings the last one, and any after it, waits for release.
func (f *finish) pass(messages int) {
	k := f.seen.Add(int64(messages))
	if k < f.n {
		return
	}
	if k-int64(messages) < f.n {
		close(f.all)
	}
	<-f.free
}

// release lets go who waits in pass.
func (f *finish) release() { close(f.free) }
