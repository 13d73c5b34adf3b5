package host

import (
	"errors"
	"os/exec"
	"syscall"
)

// Interrupted reports whether a program ended because it was told to from outside: by the signals of Ctrl-C, of a supervisor
// or of the end of a terminal. Even a program that stands [Apart] can be: until it does it is in its starter's group. err is
// what waiting for the program returned.
func Interrupted(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return false
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() { //nolint:misspell // The name is the library's.
		return false
	}
	switch status.Signal() {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP:
		return true
	default:
		return false
	}
}
