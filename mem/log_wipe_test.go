package mem_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// All Sends of one sender that wait for room when the topology is wiped go on in the new topic: none puts its record into what
// is gone, and none waits there. It is asked by the number of records and by their bytes, where the one behind would fit.
func TestLogSendsOfOneSenderOutliveTheWipe(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]mem.LogConfig{"messages": {MaxMessages: 1}, "bytes": {MaxMessages: 9, MaxBytes: 100}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b, s, r := oneLog(t, c)
				send(t, s, string(make([]byte, 60)))
				sent := make(chan error, 3)
				for _, size := range []int{90, 20, 10} {
					go func() { sent <- s.Send(t.Context(), []driver.Record{{Body: make([]byte, size)}}) }()
					synctest.Wait()
				}
				want(t, "waiting", len(sent), 0)
				b.Faults().WipeTopology()
				synctest.Wait()
				_, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
				wantErr(t, "wiped", err, driver.ErrDisconnected)
				ctx, stop := context.WithTimeout(t.Context(), time.Minute)
				defer stop()
				sizes := map[int]int{}
				for len(sizes) < 3 {
					ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 1))
					if err != nil {
						t.Fatalf("only %v came, of what was sent or waits: %v", sizes, err)
					}
					sizes[len(ds[0].Body)]++
					settle(t, r, driver.Done, ds...)
				}
				for range 3 {
					if err := <-sent; err != nil {
						t.Error(err)
					}
				}
			})
		})
	}
}

// Whether a Send waits for room is by the role that its sender has for the topic, and not by who declared it first, as in a queue.
func TestLogSendWaitsByItsOwnRole(t *testing.T) {
	t.Parallel()
	for what, first := range map[string]driver.Role{"main first": driver.Main, "dead letters first": driver.DeadLetter} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := openLog(t, mem.LogConfig{Partitions: 1, MaxMessages: 1})
				topic := func(r driver.Role) driver.Target { return driver.Target{Topic: driver.Topic{Name: "x", Role: r}} }
				send(t, logSender(t, b, topic(first)), "0")
				dead, own := logSender(t, b, topic(driver.DeadLetter)), logSender(t, b, topic(driver.Main))
				wantErr(t, "dead letter", dead.Send(t.Context(), records("1")), driver.ErrFull)
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				err := own.Send(ctx, records("2"))
				wantErr(t, "of its own", err, driver.ErrNotSent, context.DeadlineExceeded)
				want(t, "full", errors.Is(err, driver.ErrFull), false)
			})
		})
	}
}
