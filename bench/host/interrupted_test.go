//go:build unix

package host

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
)

// A signal that this process ignores, as one under nohup does, its children ignore too: such a child is not interrupted.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ends := func(s os.Signal) bool { return !signal.Ignored(s) }
	for script, want := range map[string]bool{
		"kill -INT $$":  ends(os.Interrupt),
		"kill -TERM $$": ends(syscall.SIGTERM),
		"kill -HUP $$":  ends(syscall.SIGHUP),
		"kill -KILL $$": false,
		"exit 1":        false,
		"exit 0":        false,
	} {
		if got := Interrupted(exec.CommandContext(t.Context(), "/bin/sh", "-c", script).Run()); got != want {
			t.Errorf("%s: %v, want %v", script, got, want)
		}
	}
}
