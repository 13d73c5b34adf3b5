package wherrytest

import (
	"bytes"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"
)

// labelKey is the profiler label by which a test knows the goroutines that its consumers and their handlers started:
// a goroutine inherits it from the one that starts it, so other tests of the process do not disturb.
const labelKey = "wherrytest"

// leakGrace is about how long goroutines may take to end after Run returned.
const leakGrace = 2 * time.Second

// pools are goroutines of the standard library that serve idle connections, which a handler is right to keep.
var pools = []string{
	"net/http.(*persistConn).", "net/http.(*http2clientConnReadLoop).", "net/http.(*http2ClientConn).",
	"database/sql.(*DB).connection",
}

// leaked is the stacks of goroutines that outlived the test's runs, empty when there are none.
func (t *Test) leaked() string {
	for pause := time.Millisecond; ; pause *= 2 {
		stacks := labelled(t.label())
		if len(stacks) == 0 || pause > leakGrace/2 {
			return strings.Join(stacks, "\n")
		}
		// They have been told to end, and nothing tells when the last instruction of a goroutine is over.
		time.Sleep(pause)
	}
}

// labelled is the stacks of all goroutines with the label.
func labelled(value string) []string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return nil
	}
	mark := fmt.Sprintf("%q:%q", labelKey, value)
	var found []string
	for block := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(block, mark) && !isPool(block) {
			found = append(found, block)
		}
	}
	return found
}

func isPool(stack string) bool {
	for _, p := range pools {
		if strings.Contains(stack, p) {
			return true
		}
	}
	return false
}
