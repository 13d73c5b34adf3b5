package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestQuitEndsAWrite quits while a file is written. The file is whole, the user is told, and nothing is written after.
func TestQuitEndsAWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var errs bytes.Buffer
		status := 0
		q := newQuitter(&errs, func(s int) { status = s })
		release := make(chan struct{})
		go q.whole(func() error {
			<-release
			return nil
		})
		synctest.Wait()
		go q.quit()
		synctest.Wait()
		if status != 0 || !strings.Contains(errs.String(), "wherry bench: quit at once") {
			t.Errorf("with half a file written the status is %d, said was %q", status, errs.String())
		}
		close(release)
		synctest.Wait()
		if status != statusInterrupted {
			t.Errorf("status %d, want %d", status, statusInterrupted)
		}
		select {
		case q.writing <- struct{}{}:
			t.Error("after quitting something can be written")
		default:
		}
	})
}

// TestQuitDoesNotWaitForEver has a write that hangs.
func TestQuitDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun, status := time.Now(), 0
		q := newQuitter(new(bytes.Buffer), func(s int) { status = s })
		hang := make(chan struct{})
		defer close(hang)
		go q.whole(func() error {
			<-hang
			return nil
		})
		synctest.Wait()
		q.quit()
		if took := time.Since(begun); took != quitPatience || status != statusInterrupted {
			t.Errorf("quit after %v with status %d, want after %v with %d", took, status, quitPatience, statusInterrupted)
		}
	})
}
