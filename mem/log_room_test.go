package mem_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func TestFullLogHoldsSendersUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, r := oneLog(t, mem.LogConfig{MaxMessages: 3})
		send(t, s, "0", "1", "2")
		wantErr(t, "full", s.Send(brief(t), records("x")), driver.ErrNotSent, context.DeadlineExceeded)
		sent := make(chan error, 2)
		go func() { sent <- s.Send(t.Context(), records("3")) }()
		synctest.Wait()
		go func() { sent <- s.Send(t.Context(), records("4")) }()
		synctest.Wait()
		ds := take(t, r, 3)
		settle(t, r, driver.Done, ds[1], ds[2]) // behind the first nothing makes room
		synctest.Wait()
		want(t, "sent", len(sent), 0)
		settle(t, r, driver.Done, ds[0])
		for range 2 {
			if err := <-sent; err != nil {
				t.Error(err)
			}
		}
		ds = take(t, r, 9)
		want(t, "in turn", bodies(ds), "[3 4]")
		settle(t, r, driver.Done, ds...)
		want(t, "lost", b.Lost("orders", ""), int64(0))
	})
}

func TestFullLogFailsDeadLetters(t *testing.T) {
	t.Parallel()
	b := openLog(t, mem.LogConfig{MaxMessages: 2})
	for _, role := range []driver.Role{driver.DeadLetter, driver.Hold} {
		s := logSender(t, b, driver.Target{Topic: driver.Topic{Name: fmt.Sprint("side-", role), Role: role}})
		send(t, s, "0", "1")
		wantErr(t, "full", s.Send(t.Context(), records("2")), driver.ErrFull, driver.ErrNotSent)
	}
}

func TestLogSendersAreWokenByTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b, s, _ := oneLog(t, mem.LogConfig{MaxMessages: 1})
		other := logSender(t, b, driver.Target{Topic: queueTopic("orders")})
		send(t, s, "0")
		sent := make(chan error, 2)
		go func() { sent <- s.Send(t.Context(), records("1", "2")) }()
		go func() { sent <- other.Send(t.Context(), records("3")) }()
		synctest.Wait()
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		err := <-sent
		wantErr(t, "first", driver.EntryError(err, 0), driver.ErrClosed, driver.ErrNotSent)
		wantErr(t, "behind it", driver.EntryError(err, 1), driver.ErrClosed, driver.ErrNotSent)
		b.Faults().WipeTopology() // which makes room
		if err := <-sent; err != nil {
			t.Error(err)
		}
		go func() { sent <- other.Send(t.Context(), records("4")) }()
		synctest.Wait()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		wantErr(t, "broker closed", <-sent, driver.ErrClosed, driver.ErrNotSent)
	})
}

func TestLogSenderThatGivesUpPassesItsTurnOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, r := oneLog(t, mem.LogConfig{MaxMessages: 4, MaxBytes: 100})
		send(t, s, "0")
		large := make([]byte, 100)
		ctx, cancel := context.WithCancel(t.Context())
		sent, small := make(chan error, 1), make(chan error, 1)
		go func() { sent <- s.Send(ctx, []driver.Record{{Body: large}}) }()
		synctest.Wait()
		go func() { small <- s.Send(t.Context(), records("1")) }()
		synctest.Wait()
		want(t, "small", len(small), 0) // it does not overtake
		cancel()
		wantErr(t, "large", <-sent, driver.ErrNotSent, context.Canceled)
		if err := <-small; err != nil {
			t.Error(err)
		}
		settle(t, r, driver.Done, take(t, r, 9)...)
	})
}

func TestLogDropsTheOldestAndCounts(t *testing.T) {
	t.Parallel()
	b, s, r := oneLog(t, mem.LogConfig{MaxMessages: 4, DropOldest: true})
	topic := queueTopic("orders")
	send(t, s, "0", "1", "2", "3")
	ds := take(t, r, 2)
	settle(t, r, driver.Done, ds[1])
	send(t, s, "4", "5", "6") // 0, 1 and 2 go, of which 0 is in hand and 1 finished
	want(t, "lost", b.Lost("orders", ""), int64(1))
	want(t, "depth", logDepth(t, b, "", topic), "ready 4 held 0 in flight 1")
	rest := take(t, r, 9)
	want(t, "rest", bodies(rest), "[3 4 5 6]")
	settle(t, r, driver.Done, append(rest, ds[0])...)
	want(t, "in hand is not lost", b.Lost("orders", ""), int64(1))

	// Without a receiver it is counted when one comes.
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		send(t, s, fmt.Sprint(i))
	}
	want(t, "depth", logDepth(t, b, "", topic), "ready 4 held 0 in flight 0")
	next := logReceiver(t, b, "", topic)
	want(t, "next", bodies(take(t, next, 9)), "[6 7 8 9]")
	want(t, "lost", b.Lost("orders", ""), int64(7))
}

func TestLogHistoryMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := openLog(t, mem.LogConfig{Partitions: 1, MaxMessages: 3})
		fan := fanout("fan", "a")
		s, r := logSender(t, b, driver.Target{Topic: fan}), logReceiver(t, b, "a", fan)
		var then time.Time
		for i := range 5 {
			time.Sleep(time.Second)
			if i == 3 {
				then = time.Now()
			}
			send(t, s, fmt.Sprint(i))
			settle(t, r, driver.Done, take(t, r, 1)...)
		}
		p := b.Positions("fan", "a")[0]
		want(t, "kept", fmt.Sprint(p.Begin, p.Commit, p.End), "2 5 5")
		readers := map[string]driver.Receiver{}
		for name, from := range map[string]driver.Position{
			"[2 3 4 5]": {Head: true}, "[3 4 5]": {Time: then}, "[5]": {}, "[4 5]": {Time: then.Add(time.Millisecond)},
		} {
			reader, err := b.OpenBroadcast(t.Context(), driver.Source{Topics: []driver.Topic{fan}, Prefetch: 9, From: from})
			if err != nil {
				t.Fatal(err)
			}
			readers[name] = reader
		}
		if err := b.Faults().Inject("fan", driver.Record{Body: []byte("5")}); err != nil { // it does not ask for room
			t.Error(err)
		}
		for name, reader := range readers {
			ds := take(t, reader, 9)
			want(t, "read", bodies(ds), name)
			settle(t, reader, driver.Done, ds...)
			if err := reader.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestSlowLogReaderMisses(t *testing.T) {
	t.Parallel()
	b := openLog(t, mem.LogConfig{Partitions: 1, MaxMessages: 3})
	fan := fanout("fan")
	s := logSender(t, b, driver.Target{Topic: fan})
	reader, err := b.OpenBroadcast(t.Context(), driver.Source{Topics: []driver.Topic{fan}, Prefetch: 9})
	if err != nil {
		t.Fatal(err)
	}
	send(t, s, "0", "1")
	held := take(t, reader, 1)
	send(t, s, "2", "3", "4", "5")
	want(t, "missed", b.Missed("fan"), int64(2))
	settle(t, reader, driver.Release, held...)
	want(t, "depth", logDepth(t, b, "", fan), "ready 4 held 0 in flight 0")
	// It keeps its place over a cut, with what it had in hand as far as the log has it.
	b.Faults().Disconnect(mem.HardCut)
	b.Faults().Reconnect()
	rest := take(t, reader, 9)
	want(t, "rest", bodies(rest), "[3 4 5]")
	settle(t, reader, driver.Done, rest...)
	want(t, "missed", b.Missed("fan"), int64(3))
	if err := reader.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, "depth", logDepth(t, b, "", fan), "ready 0 held 0 in flight 0")
}

func TestLogConfigIsChecked(t *testing.T) {
	t.Parallel()
	b := openLog(t, mem.LogConfig{Partitions: -1, MaxMessages: -1, MaxBytes: -1, MaxState: -1, MaxRecord: -1, SendBatch: -1, Rebalance: -1})
	_, err := b.OpenSender(t.Context(), driver.Target{Topic: queueTopic("orders")})
	if err == nil {
		t.Fatal("a config of wrong values was taken")
	}
	want(t, "error", err.Error(), `mem: log config: Partitions is -1, which is negative
MaxMessages is -1, which is negative
MaxBytes is -1, which is negative
MaxState is -1, which is negative
MaxRecord is -1, which is negative
SendBatch is -1, which is negative
Rebalance is -1ns, which is negative`)
	var zero mem.LogBroker
	if err := zero.Declare(t.Context(), queueTopic("orders"), driver.Declare); err == nil {
		t.Error("the zero LogBroker declares")
	}
	if err := zero.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Who waits in a Receive while the window is full goes on when it opens, without a record that comes.
func TestLogReceiveGoesOnWhenTheWindowOpens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, s, r := oneLog(t, mem.LogConfig{MaxSpan: 10})
		for i := range 30 {
			send(t, s, fmt.Sprint(i))
		}
		ds := take(t, r, 30)
		want(t, "within the window", len(ds), 10)
		settle(t, r, driver.Done, ds[1:]...)
		came := make(chan int, 1)
		go func() {
			got, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 30))
			if err != nil {
				t.Error(err)
			}
			came <- len(got)
		}()
		synctest.Wait()
		settle(t, r, driver.Done, ds[0])
		synctest.Wait()
		select {
		case n := <-came:
			want(t, "came", n, 10)
		default:
			t.Fatal("nothing came after the window opened")
		}
	})
}
