package mem_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// reader opens a broadcast reader.
func reader(tb testing.TB, b *mem.Broker, topics ...driver.Topic) driver.Receiver {
	tb.Helper()
	r, err := b.OpenBroadcast(tb.Context(), driver.Source{Topics: topics, Prefetch: 64})
	if err != nil {
		tb.Fatalf("open broadcast: %v", err)
	}
	return r
}

// Fault 44: what is sent once a reader is open is for it, however late it receives.
func TestReadersGetAllFromNowOn(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	fan := fanout("fan", "g")
	s := sender(t, b, driver.Target{Topic: fan})
	only := sender(t, b, driver.Target{Topic: fan, Group: "g"})
	send(t, s, "before")
	one := reader(t, b, fan)
	send(t, s, "a")
	two := reader(t, b, fan)
	send(t, only, "for the group")
	send(t, s, "b")
	want(t, "one", bodies(take(t, one, 9)), "[a b]")
	want(t, "two", bodies(take(t, two, 9)), "[b]")
	want(t, "group", bodies(take(t, receiver(t, b, "g", fan), 9)), "[before a for the group b]")
}

func TestBroadcastRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	fan := []driver.Topic{fanout("fan")}
	for what, s := range map[string]driver.Source{
		"the head": {Topics: fan, From: driver.Position{Head: true}},
		"a time":   {Topics: fan, From: driver.Position{Time: time.Now()}},
	} {
		wantErr(t, what, second(b.OpenBroadcast(t.Context(), s)), errors.ErrUnsupported)
	}
	wantErr(t, "a group", second(b.OpenBroadcast(t.Context(), driver.Source{Topics: fan, Group: "g"})))
	wantErr(t, "a queue", second(b.OpenBroadcast(t.Context(), driver.Source{Topics: []driver.Topic{queueTopic("q")}})))
	wantErr(t, "no topic", second(b.OpenBroadcast(t.Context(), driver.Source{})))
	missing := driver.Source{Topics: []driver.Topic{fanout("there"), fanout("missing")}, Topology: driver.Verify}
	if err := b.Declare(t.Context(), fanout("there"), driver.Declare); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "a missing topic", second(b.OpenBroadcast(t.Context(), missing)), driver.ErrNoTopic)
	// And nothing of what was refused is left.
	err := sender(t, b, driver.Target{Topic: fanout("there")}).Send(t.Context(), records("x"))
	wantErr(t, "a send that nobody gets", err, driver.ErrNoTopic)
}

// A reader that is too slow loses its oldest, is told by a count, and holds up nobody.
func TestSlowReadersLoseTheirOldest(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]mem.Config{
		"messages":         {MaxBroadcast: 3},
		"bytes":            {MaxBroadcastBytes: 3 * 8},
		"the queue's":      {MaxMessages: 3},
		"more than queues": {MaxMessages: 2, MaxBroadcast: 3},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := open(t, c)
			fan := fanout("fan")
			s := sender(t, b, driver.Target{Topic: fan})
			slow, quick := reader(t, b, fan), reader(t, b, fan)
			var kept []string
			for i := range 50 {
				body := fmt.Sprintf("body %03d", i)
				send(t, s, body)
				ds := take(t, quick, 9)
				want(t, "quick", bodies(ds), "["+body+"]")
				settle(t, quick, driver.Done, ds...)
				kept = append(kept, body)
			}
			want(t, "missed", b.Missed("fan"), 47)
			want(t, "slow", bodies(take(t, slow, 9)), kept[47:])
			if err := s.Send(t.Context(), records(kept[:10]...)); err != nil { // in one batch
				t.Error(err)
			}
			want(t, "missed by both", b.Missed("fan"), 47+2*7)
			want(t, "the last of a batch", bodies(take(t, quick, 9)), kept[7:10])
			_ = slow.Close(t.Context())
			want(t, "missed after the close", b.Missed("fan"), 47+2*7)
			want(t, "missed of another topic", b.Missed("other"), 0)
		})
	}
}

func TestReaderKeepsARecordAboveItsBound(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{MaxBroadcastBytes: 4})
	r := reader(t, b, fanout("fan"))
	s := sender(t, b, driver.Target{Topic: fanout("fan")})
	send(t, s, "first", "a large one")
	want(t, "kept", bodies(take(t, r, 9)), "[a large one]")
}

// A group that is full makes senders wait, and its readers do not miss what comes then.
func TestReadersBesideAFullGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxMessages: 2})
		fan := fanout("fan", "g")
		s, r := sender(t, b, driver.Target{Topic: fan}), reader(t, b, fan)
		send(t, s, "1", "2")
		sent := make(chan error, 1)
		go func() { sent <- s.Send(t.Context(), records("3")) }()
		synctest.Wait()
		want(t, "sent", len(sent), 0)
		want(t, "reader", bodies(take(t, r, 9)), "[1 2]")
		want(t, "group", bodies(take(t, receiver(t, b, "g", fan), 1)), "[1]")
		if err := <-sent; err != nil {
			t.Error(err)
		}
		want(t, "reader", bodies(take(t, r, 9)), "[3]")
	})
}

// Once a topic had a reader, what nobody gets may be sent; what is wrong with a record is told all the same.
func TestClosedReadersAreGone(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{MaxRecord: 100 << 10})
	fan := fanout("fan")
	s := sender(t, b, driver.Target{Topic: fan})
	wantErr(t, "before any reader", s.Send(t.Context(), records("x")), driver.ErrNoTopic, driver.ErrNotSent)
	r := reader(t, b, fan)
	send(t, s, "1", "2")
	want(t, "depth", depth(t, b, "", fan), "ready 2 held 0 in flight 0")
	held := take(t, r, 1)
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, "depth", depth(t, b, "", fan), "ready 0 held 0 in flight 0")
	wantErr(t, "settle", r.Settle(t.Context(), []driver.Settlement{{Delivery: held[0]}}), driver.ErrRevoked)
	large := strings.Repeat("x", 64<<10)
	if err := s.Send(t.Context(), records("x", large, "y")); err != nil {
		t.Errorf("to nobody: %v", err)
	}
	at := records(large)
	at[0].Due = driver.StampOf(time.Now().Add(time.Hour))
	if err := s.(driver.Holder).SendAt(t.Context(), at); err != nil {
		t.Errorf("to nobody, later: %v", err)
	}
	err := s.Send(t.Context(), records("x", large+large, "y"))
	wantErr(t, "too large", driver.EntryError(err, 1), driver.ErrTooLarge)
	if err := errors.Join(driver.EntryError(err, 0), driver.EntryError(err, 2)); err != nil {
		t.Errorf("its neighbours: %v", err)
	}
	next := reader(t, b, fan)
	send(t, s, "3")
	want(t, "the next reader", bodies(take(t, next, 9)), "[3]")
}

// What a reader releases comes to it alone; so does what it had in hand when its tenure or a lease ended.
func TestReadersGetBackTheirOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{Lease: time.Minute, Poison: true})
		fan := fanout("fan")
		s, r, other := sender(t, b, driver.Target{Topic: fan}), reader(t, b, fan), reader(t, b, fan)
		send(t, s, "1", "2")
		settle(t, other, driver.Done, take(t, other, 9)...)
		settle(t, r, driver.Release, take(t, r, 9)[0])
		want(t, "released", bodies(take(t, r, 9)), "[1]")
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		want(t, "leases ended", bodies(take(t, r, 9)), "[1 2]")
		if err := b.Faults().RevokeReceiver(r, 0); err != nil {
			t.Error(err)
		}
		<-r.(driver.Revoker).Revocations()
		want(t, "revoked", bodies(take(t, r, 9)), "[1 2]")
		b.Faults().Disconnect(mem.HardCut)
		_, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
		wantErr(t, "cut", err, driver.ErrDisconnected)
		want(t, "reason", r.(driver.Waiter).Waiting(), "broker away")
		b.Faults().Reconnect()
		ds := take(t, r, 9)
		want(t, "after the cut", bodies(ds), "[1 2]")
		settle(t, r, driver.Done, ds...)
		nothing(t, "the other", other)
	})
}

func TestReadersOutliveAWipe(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{MaxBroadcast: 2})
	fan := fanout("fan")
	s, r := sender(t, b, driver.Target{Topic: fan}), reader(t, b, fan)
	send(t, s, "1", "2", "3")
	b.Faults().WipeTopology()
	send(t, s, "while it does not know")
	_, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
	wantErr(t, "receive", err, driver.ErrDisconnected)
	got := make(chan []*driver.Delivery)
	go func() { got <- take(t, r, 9) }()
	for depthErr := true; depthErr; { // until it has joined again
		send(t, s, "4")
		select {
		case ds := <-got:
			want(t, "afterwards", bodies(ds)[0], "4")
			depthErr = false
		default:
		}
	}
	if b.Missed("fan") == 0 {
		t.Error("the count did not outlive the wipe")
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, "depth", depth(t, b, "", fan), "ready 0 held 0 in flight 0")
}

func TestReadersUnderFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxBroadcast: 3})
		fan := fanout("fan")
		f, s, r := b.Faults(), sender(t, b, driver.Target{Topic: fan}), reader(t, b, fan)
		for i := range 5 {
			if err := f.Inject("fan", driver.Record{Body: fmt.Append(nil, i)}); err != nil {
				t.Fatal(err)
			}
		}
		want(t, "injected", bodies(take(t, r, 9)), "[2 3 4]")
		f.Duplicate("fan", 1)
		send(t, s, "twice")
		want(t, "duplicate", bodies(append(take(t, r, 9), take(t, r, 9)...)), "[twice twice]")
		f.Drop("fan", 1)
		send(t, s, "lost", "kept")
		want(t, "dropped", bodies(take(t, r, 9)), "[kept]")
		f.Stall("fan")
		send(t, s, "stalled")
		nothing(t, "stalled", r)
		f.Clear()
		want(t, "unstalled", bodies(take(t, r, 9)), "[stalled]")
	})
}

// What is due counts against a reader's bound from then on; before, it is bounded as everywhere.
func TestReadersAndDueTimes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := open(t, mem.Config{MaxMessages: 4, MaxBroadcast: 3})
		fan := fanout("fan")
		s, r := sender(t, b, driver.Target{Topic: fan}), reader(t, b, fan)
		for i := range 4 {
			if err := sendIn(t, s, fmt.Sprint(i), time.Minute); err != nil {
				t.Fatal(err)
			}
		}
		wantErr(t, "the fifth", sendIn(t, s, "4", time.Minute), driver.ErrFull)
		time.Sleep(time.Minute)
		synctest.Wait()
		want(t, "missed", b.Missed("fan"), 1)
		want(t, "due", bodies(take(t, r, 9)), "[1 2 3]")
	})
}

// Readers come and go beside senders; each gets an unbroken part of what was sent.
func TestReadersUnderChange(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	fan := fanout("fan", "g")
	s := sender(t, b, driver.Target{Topic: fan})
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for ctx.Err() == nil {
				readSome(ctx, t, b, fan)
			}
		})
	}
	const n, size = 2000, 5 << 10 // large ones are copied before the lock is taken
	group := receiver(t, b, "g", fan)
	for i := range n {
		body := fmt.Appendf(nil, "%d", i)
		if i%10 == 0 {
			body = append(body, make([]byte, size)...)
		}
		if err := s.Send(t.Context(), []driver.Record{{ID: driver.ID{Seq: uint64(i)}, Body: body}}); err != nil {
			t.Fatal(err)
		}
		ds := take(t, group, 1)
		want(t, "group", ds[0].ID.Seq, i)
		settle(t, group, driver.Done, ds...)
	}
	stop()
	all.Wait()
	want(t, "readers", depth(t, b, "", fan), "ready 0 held 0 in flight 0")
}

func readSome(ctx context.Context, t *testing.T, b *mem.Broker, fan driver.Topic) {
	t.Helper()
	r, err := b.OpenBroadcast(ctx, driver.Source{Topics: []driver.Topic{fan}, Prefetch: 8})
	if err != nil {
		return
	}
	defer func() { _ = r.Close(context.WithoutCancel(ctx)) }()
	var seen []uint64
	for len(seen) < 20 {
		ds, err := r.Receive(ctx, make([]*driver.Delivery, 0, 8))
		if err != nil {
			break
		}
		for _, d := range ds {
			seen = append(seen, d.ID.Seq)
		}
		settle(t, r, driver.Done, ds...)
	}
	for i := range seen {
		if seen[i] != seen[0]+uint64(i) {
			t.Errorf("a reader saw %v", seen)
			break
		}
	}
}
