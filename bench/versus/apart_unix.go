//go:build unix

package versus

import (
	"os/exec"
	"syscall"
)

// apart starts a program in a process group of its own, so that Ctrl-C does not reach it: a program that ends before it is
// known why would be a failure of its own.
func apart(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
