package mem_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// sendIn sends a record that is due after a while.
func sendIn(tb testing.TB, s driver.Sender, body string, wait time.Duration) error {
	tb.Helper()
	h, ok := s.(driver.Holder)
	if !ok {
		tb.Fatal("the sender is no Holder")
	}
	return h.SendAt(tb.Context(), []driver.Record{{Body: []byte(body), Due: driver.StampOf(time.Now().Add(wait))}})
}

func TestHeldRecordsComeInDueOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{})
		for _, body := range []string{"30 a", "1 a", "30 b", "1 b", "0"} {
			var seconds int
			if _, err := fmt.Sscan(body, &seconds); err != nil {
				t.Fatal(err)
			}
			if err := sendIn(t, s, body, time.Duration(seconds)*time.Second); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 1 held 4 in flight 0")
		begun := time.Now()
		want(t, "due", bodies(take(t, r, 9)), "[0]")
		want(t, "after one second", bodies(take(t, r, 9)), "[1 a 1 b]")
		want(t, "waited", time.Since(begun), time.Second)
		want(t, "after thirty", bodies(take(t, r, 9)), "[30 a 30 b]")
		want(t, "waited", time.Since(begun), 30*time.Second)
		want(t, "MaxHold", s.(driver.Holder).MaxHold(), time.Duration(0))
	})
}

func TestDueTimesOfOneBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, r := one(t, mem.Config{})
		at := func(d time.Duration) driver.Stamp { return driver.StampOf(time.Now().Add(d)) }
		err := s.(driver.Holder).SendAt(t.Context(), []driver.Record{
			{Body: []byte("late"), Due: at(time.Minute)},
			{Body: []byte("past"), Due: at(-time.Minute)},
			{Body: []byte("zero")},
			{Body: []byte("soon"), Due: at(time.Second)},
		})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "at once", bodies(take(t, r, 9)), "[past zero]")
		want(t, "next", bodies(take(t, r, 9)), "[soon]")
		want(t, "last", bodies(take(t, r, 9)), "[late]")
	})
}

func TestHeldRecordsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := one(t, mem.Config{MaxMessages: 2})
		topic := queueTopic("orders")
		send(t, s, "a", "b")
		for range 2 {
			if err := sendIn(t, s, "held", time.Second); err != nil {
				t.Fatal(err)
			}
		}
		wantErr(t, "one more", sendIn(t, s, "x", time.Second), driver.ErrFull, driver.ErrNotSent)
		wantErr(t, "one that is due", sendIn(t, s, "x", 0), driver.ErrFull, driver.ErrNotSent)
		time.Sleep(time.Second)
		synctest.Wait()
		want(t, "due above the bound", depth(t, b, "", topic), "ready 4 held 0 in flight 0")
		wantErr(t, "what is above still counts", sendIn(t, s, "x", time.Second), driver.ErrFull)
		settle(t, r, driver.Done, take(t, r, 1)...)
		if err := sendIn(t, s, "fits", time.Second); err != nil {
			t.Errorf("with room again: %v", err)
		}
	})
}

func TestDueRecordEntersAFullQueue(t *testing.T) {
	t.Parallel()
	b, s, _ := one(t, mem.Config{MaxMessages: 1})
	send(t, s, "a")
	if err := sendIn(t, s, "due", -time.Second); err != nil {
		t.Fatal(err)
	}
	want(t, "depth", depth(t, b, "", queueTopic("orders")), "ready 2 held 0 in flight 0")
}

func TestHeldRecordsOfAFanout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{})
		topic := fanout("fan", "a", "b")
		all, only := sender(t, b, driver.Target{Topic: topic}), sender(t, b, driver.Target{Topic: topic, Group: "b"})
		if err := sendIn(t, all, "all", time.Second); err != nil {
			t.Fatal(err)
		}
		if err := sendIn(t, only, "only", 2*time.Second); err != nil {
			t.Fatal(err)
		}
		ra, rb := receiver(t, b, "a", topic), receiver(t, b, "b", topic)
		want(t, "a", bodies(take(t, ra, 9)), "[all]")
		want(t, "b", bodies(take(t, rb, 9)), "[all]")
		want(t, "b", bodies(take(t, rb, 9)), "[only]")
		want(t, "a", depth(t, b, "a", topic), "ready 0 held 0 in flight 1")
	})
}

func TestSendAtRefusesAsSendDoes(t *testing.T) {
	t.Parallel()
	_, s, _ := one(t, mem.Config{MaxRecord: 3})
	wantErr(t, "too large", sendIn(t, s, "four", time.Second), driver.ErrTooLarge, driver.ErrNotSent)
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "closed", sendIn(t, s, "x", time.Second), driver.ErrClosed, driver.ErrNotSent)
}

func TestDepthTellsTheOldest(t *testing.T) {
	t.Parallel()
	b, s, _ := one(t, mem.Config{})
	source := driver.Source{Topics: []driver.Topic{queueTopic("orders")}}
	d, err := b.Depth(t.Context(), source)
	if err != nil || !d.Oldest.IsZero() {
		t.Errorf("empty: %v, %v", d, err)
	}
	for _, p := range []driver.Stamp{0, 300, 100, 200} {
		if err := s.Send(t.Context(), []driver.Record{{Control: driver.Control{Published: p}}}); err != nil {
			t.Fatal(err)
		}
	}
	d, err = b.Depth(t.Context(), source)
	if err != nil || driver.StampOf(d.Oldest) != 100 {
		t.Errorf("got %v, %v, want the oldest at 100", d.Oldest, err)
	}
}
