//go:build !unix

package versus

import "os/exec"

// apart is nothing where there are no process groups.
func apart(*exec.Cmd) {}
