package mem_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func TestSendCopiesAndDeliversEverything(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	topic := queueTopic("orders")
	s, r := sender(t, b, driver.Target{Topic: topic}), receiver(t, b, "", topic)
	for _, size := range []int{0, 1, 64, 5 << 10, 100 << 10} {
		body := strings.Repeat("x", size)
		rec := driver.Record{
			ID: driver.ID{Prefix: 7, Seq: uint64(size)}, Key: []byte("key"), Body: []byte(body),
			Headers:     []driver.Header{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}},
			ContentType: "text/plain",
			Control: driver.Control{
				Attempt: 2, Published: 99,
				Hold:    &driver.HoldData{Topic: "t"},
				Failure: &driver.Failure{Reason: "why"},
			},
		}
		if err := s.Send(t.Context(), []driver.Record{rec}); err != nil {
			t.Fatal(err)
		}
		for i := range rec.Body {
			rec.Body[i] = '!'
		}
		rec.Key[0], rec.Headers[0].Value, rec.Control.Hold.Topic, rec.Control.Failure.Reason = '!', "!", "!", "!"
		ds := take(t, r, 1)
		d := ds[0]
		want(t, "topic, id, type", fmt.Sprint(d.Topic, d.ID, d.ContentType), fmt.Sprint("orders", rec.ID, "text/plain"))
		if string(d.Body) != body {
			t.Errorf("body of %d bytes changed", size)
		}
		want(t, "key and headers", fmt.Sprintf("%s %v", d.Key, d.Headers), "key [{a 1} {a 2}]")
		c := d.Control
		want(t, "control", fmt.Sprintln(c.Attempt, c.Published, c.Hold.Topic, c.Failure.Reason), "2 99 t why\n")
		want(t, "delivered", d.Delivered, 1)
		settle(t, r, driver.Done, ds...)
	}
}

func TestFullQueueMakesSendersWaitInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxMessages: 2})
		topic := queueTopic("orders")
		s, r := sender(t, b, driver.Target{Topic: topic}), receiver(t, b, "", topic)
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() { send(t, s, fmt.Sprint(i)) })
			synctest.Wait() // so that they queue up in this order
		}
		want(t, "depth", depth(t, b, "", topic), "ready 2 held 0 in flight 0")
		var got []string
		for range 6 {
			got = append(got, bodies(take(t, r, 1))...)
			synctest.Wait()
		}
		want(t, "order", got, "[0 1 2 3 4 5]")
		all.Wait()
	})
}

func TestNewcomerDoesNotOvertakeWhoWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxMessages: 10, MaxBytes: 10})
		topic := queueTopic("orders")
		s, r := sender(t, b, driver.Target{Topic: topic}), receiver(t, b, "", topic)
		send(t, s, "12345678")
		var all sync.WaitGroup
		all.Go(func() { send(t, s, "123456") }) // finds no room
		synctest.Wait()
		all.Go(func() { send(t, s, "1") }) // would find some
		synctest.Wait()
		if s.(driver.Accepter).Accept(&driver.Record{Body: []byte("1")}) {
			t.Error("a record was accepted before those that wait")
		}
		if s.(driver.Accepter).AcceptCopy([]byte("1"), "", 0) {
			t.Error("a body was accepted before those that wait")
		}
		want(t, "depth", depth(t, b, "", topic), "ready 1 held 0 in flight 0")
		want(t, "first", bodies(take(t, r, 1)), "[12345678]")
		synctest.Wait()
		all.Wait()
		then := bodies(take(t, r, 2))
		slices.Sort(then) // both were let in at once
		want(t, "then", then, "[1 123456]")
	})
}

func TestSendToFullQueueEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxMessages: 2})
		topic := queueTopic("orders")
		s := sender(t, b, driver.Target{Topic: topic})
		why := errors.New("why")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		begun := time.Now()
		err := s.Send(ctx, []driver.Record{{Body: []byte("a")}, {Body: []byte("b")}, {Body: []byte("c")}, {Body: []byte("d")}})
		want(t, "waited", time.Since(begun), time.Second)
		for i := range 2 {
			if err := driver.EntryError(err, i); err != nil {
				t.Errorf("record %d: %v", i, err)
			}
			wantErr(t, "record that found no room", driver.EntryError(err, 2+i), driver.ErrNotSent, why)
		}
		want(t, "depth", depth(t, b, "", topic), "ready 2 held 0 in flight 0")
		wantErr(t, "send with an ended context", s.Send(ctx, []driver.Record{{}}), driver.ErrNotSent, why)
	})
}

func TestCloseWakesWaitingSenders(t *testing.T) {
	t.Parallel()
	for what, end := range map[string]func(*mem.Broker, driver.Sender) error{
		"sender": func(_ *mem.Broker, s driver.Sender) error { return s.Close(context.Background()) },
		"broker": func(b *mem.Broker, _ driver.Sender) error { return b.Close(context.Background()) },
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := open(t, mem.Config{MaxMessages: 1})
				s := sender(t, b, driver.Target{Topic: fanout("fan", "a", "b")})
				send(t, s, "fits")
				errs := make(chan error, 3)
				for range cap(errs) {
					go func() { errs <- s.Send(t.Context(), []driver.Record{{Body: []byte("waits")}}) }()
				}
				synctest.Wait()
				if err := end(b, s); err != nil {
					t.Error(err)
				}
				for range cap(errs) {
					wantErr(t, "waiting send", <-errs, driver.ErrClosed, driver.ErrNotSent)
				}
				wantErr(t, "send after close", s.Send(t.Context(), []driver.Record{{}}), driver.ErrClosed, driver.ErrNotSent)
				if err := end(b, s); err != nil {
					t.Errorf("second close: %v", err)
				}
			})
		})
	}
}

func TestClosedSenderLeavesItsPlaceToTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxBytes: 10})
		topic := queueTopic("orders")
		one, two := sender(t, b, driver.Target{Topic: topic}), sender(t, b, driver.Target{Topic: topic})
		send(t, one, "12345678")
		var all sync.WaitGroup
		all.Go(func() { _ = one.Send(t.Context(), []driver.Record{{Body: []byte("123456")}}) })
		synctest.Wait()
		all.Go(func() { send(t, two, "1") })
		synctest.Wait()
		if err := one.Close(t.Context()); err != nil {
			t.Error(err)
		}
		all.Wait()
		want(t, "depth", depth(t, b, "", topic), "ready 2 held 0 in flight 0")
	})
}

func TestSenderThatGivesUpLeavesItsPlaceToTheNext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxBytes: 10})
		topic := queueTopic("orders")
		s := sender(t, b, driver.Target{Topic: topic})
		send(t, s, "12345678")
		var all sync.WaitGroup
		all.Go(func() {
			wantErr(t, "send", s.Send(brief(t), records("123456")), driver.ErrNotSent, context.DeadlineExceeded)
		})
		synctest.Wait()
		all.Go(func() { send(t, s, "1") })
		all.Wait()
		want(t, "depth", depth(t, b, "", topic), "ready 2 held 0 in flight 0")
	})
}

func TestFanoutIsAllOrNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxMessages: 1})
		topic := fanout("fan", "slow", "quick")
		s := sender(t, b, driver.Target{Topic: topic})
		slow, quick := receiver(t, b, "slow", topic), receiver(t, b, "quick", topic)
		send(t, s, "one")
		take(t, quick, 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wantErr(t, "send", s.Send(ctx, []driver.Record{{Body: []byte("two")}}), driver.ErrNotSent)
		want(t, "quick", depth(t, b, "quick", topic), "ready 0 held 0 in flight 1")
		want(t, "slow", depth(t, b, "slow", topic), "ready 1 held 0 in flight 0")
		var all sync.WaitGroup
		all.Go(func() { send(t, s, "three") })
		synctest.Wait()
		take(t, slow, 1)
		all.Wait()
		want(t, "quick", bodies(take(t, quick, 2)), "[three]")
	})
}

func TestFanoutThatWaitsElsewhereTakesNoRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxMessages: 1})
		topic := fanout("fan", "a", "b")
		every, only := sender(t, b, driver.Target{Topic: topic}), sender(t, b, driver.Target{Topic: topic, Group: "a"})
		ra, rb := receiver(t, b, "a", topic), receiver(t, b, "b", topic)
		send(t, every, "first")
		var all sync.WaitGroup
		all.Go(func() { send(t, every, "every") }) // waits for a
		synctest.Wait()
		all.Go(func() { send(t, only, "only") })
		synctest.Wait()
		take(t, ra, 1) // b is still full
		synctest.Wait()
		want(t, "a", bodies(take(t, ra, 9)), "[only]")
		take(t, rb, 1)
		all.Wait()
		want(t, "a", bodies(take(t, ra, 9)), "[every]")
		want(t, "b", bodies(take(t, rb, 9)), "[every]")
	})
}

func TestSideTopicsFailRatherThanWait(t *testing.T) {
	t.Parallel()
	for _, role := range []driver.Role{driver.DeadLetter, driver.Hold} {
		b := open(t, mem.Config{MaxMessages: 5, MaxDeadLetters: 2})
		topic := driver.Topic{Name: "side", Role: role}
		s := sender(t, b, driver.Target{Topic: topic})
		err := s.Send(t.Context(), []driver.Record{{}, {}, {}})
		if driver.EntryError(err, 0) != nil || driver.EntryError(err, 1) != nil {
			t.Errorf("what fits: %v", err)
		}
		wantErr(t, "what does not", driver.EntryError(err, 2), driver.ErrFull, driver.ErrNotSent)
		take(t, receiver(t, b, "", topic), 1)
		send(t, s, "room again")
	}
}

func TestLargeRecordThatFindsNoRoomIsNotSentAsAnother(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{MaxDeadLetterBytes: 20 << 10})
	topic := driver.Topic{Name: "dead", Role: driver.DeadLetter}
	s, r := sender(t, b, driver.Target{Topic: topic}), receiver(t, b, "", topic)
	large := func(c string, size int) driver.Record { return driver.Record{Body: []byte(strings.Repeat(c, size))} }
	err := s.Send(t.Context(), []driver.Record{large("a", 10<<10), large("b", 15<<10), large("c", 5<<10)})
	wantErr(t, "what finds no room", driver.EntryError(err, 1), driver.ErrFull)
	var got string
	for _, d := range take(t, r, 9) {
		got += string(d.Body[:1]) + string(d.Body[len(d.Body)-1:])
	}
	want(t, "sent", got, "aacc")
}

func TestTooLargeIsRefusedAlone(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{MaxRecord: 10})
	topic := queueTopic("orders")
	s := sender(t, b, driver.Target{Topic: topic})
	want(t, "limit", s.Limits().MaxRecord, 10)
	long := strings.Repeat("x", 11)
	err := s.Send(t.Context(), []driver.Record{
		{Key: []byte("a"), Body: []byte("1")},
		{Key: []byte("b"), Body: []byte(long)},
		{Key: []byte("b"), Body: []byte("2")},
		{Key: []byte("c"), Body: []byte("3")},
	})
	wantErr(t, "too large", driver.EntryError(err, 1), driver.ErrTooLarge, driver.ErrNotSent)
	wantErr(t, "later of its key", driver.EntryError(err, 2), driver.ErrNotSent)
	want(t, "sent", bodies(take(t, receiver(t, b, "", topic), 9)), "[1 3]")
	wantErr(t, "alone", s.Send(t.Context(), []driver.Record{{Body: []byte(long)}}), driver.ErrTooLarge)
	want(t, "no more than the queue", sender(t, open(t, mem.Config{MaxBytes: 7, MaxRecord: 9}),
		driver.Target{Topic: topic}).Limits().MaxRecord, 7)
}

func TestLargeRecordsWaitForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxBytes: 100 << 10})
		topic := fanout("fan", "a", "b")
		s := sender(t, b, driver.Target{Topic: topic})
		ra, rb := receiver(t, b, "a", topic), receiver(t, b, "b", topic)
		large := strings.Repeat("L", 60<<10)
		var all sync.WaitGroup
		all.Go(func() {
			for i := range 4 {
				if err := s.Send(t.Context(), []driver.Record{{Body: []byte(fmt.Sprint(i))}, {Body: []byte(large)}}); err != nil {
					t.Error(err)
				}
			}
		})
		var got [2]string
		for range 8 {
			for i, r := range []driver.Receiver{ra, rb} {
				synctest.Wait()
				ds := take(t, r, 1)
				got[i] += bodies(ds)[0][:1]
				settle(t, r, driver.Done, ds...)
			}
		}
		all.Wait()
		want(t, "both groups", got, "[0L1L2L3L 0L1L2L3L]")
	})
}

// A Send that waits for room and is ended by something else says so, and not that the queue is full.
func TestSendSaysWhatEndedItsWait(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		end  func(b *mem.Broker, s driver.Sender, stop context.CancelFunc) error
		full bool
	}{
		"sender closed": {func(_ *mem.Broker, s driver.Sender, _ context.CancelFunc) error { return s.Close(context.Background()) }, false},
		"broker closed": {func(b *mem.Broker, _ driver.Sender, _ context.CancelFunc) error { return b.Close(context.Background()) }, false},
		"given up":      {func(_ *mem.Broker, _ driver.Sender, stop context.CancelFunc) error { stop(); return nil }, true},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := open(t, mem.Config{MaxMessages: 1})
				s := sender(t, b, driver.Target{Topic: queueTopic("orders")})
				send(t, s, "0")
				ctx, stop := context.WithCancel(t.Context())
				defer stop()
				sent := make(chan error, 1)
				go func() { sent <- s.Send(ctx, records("1")) }()
				synctest.Wait()
				if err := c.end(b, s, stop); err != nil {
					t.Error(err)
				}
				err := <-sent
				wantErr(t, "send", err, driver.ErrNotSent)
				want(t, "says that it is full", strings.Contains(err.Error(), "is full"), c.full)
			})
		})
	}
}
