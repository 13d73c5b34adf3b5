//go:build unix

package host

import (
	"os/exec"
	"testing"
)

func TestInterrupted(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"kill -INT $$": true, "kill -TERM $$": true, "kill -HUP $$": true, "kill -KILL $$": false, "exit 1": false, "exit 0": false,
	} {
		if got := Interrupted(exec.CommandContext(t.Context(), "/bin/sh", "-c", script).Run()); got != want {
			t.Errorf("%s: %v, want %v", script, got, want)
		}
	}
}
