package host

import "runtime"

const (
	touchChunk = 64 << 10
	page       = 4 << 10
)

// Touch has the collected heap grow by so many bytes that were written to once, and are free. Until then the first use of
// each page is a fault, and what that takes is a matter of the system, and in a virtual machine of its host and of other
// machines there. A process that has run for a while does not meet it.
func Touch(bytes int64) {
	chunks := make([][]byte, 0, bytes/touchChunk+1)
	for at := int64(0); at < bytes; at += touchChunk {
		chunk := make([]byte, touchChunk)
		for i := 0; i < len(chunk); i += page {
			chunk[i] = 1
		}
		chunks = append(chunks, chunk)
	}
	runtime.KeepAlive(chunks)
	clear(chunks)
	runtime.GC() //nolint:revive // What was touched is to be free before anything is measured.
}
