//go:build !unix

package host

import "os/exec"

// Apart is nothing where there are no process groups.
func Apart(*exec.Cmd) {}
