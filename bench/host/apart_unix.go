//go:build unix

package host

import (
	"os/exec"
	"syscall"
)

// Apart has a program start in a process group of its own, so that Ctrl-C, and whatever else is sent to the group of this
// process, does not reach it: a program that ends before it is known why would be a failure of its own. Whoever starts it
// ends it. Call it before the start.
func Apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
