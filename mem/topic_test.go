package mem_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func TestConfigNamesEveryMistake(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{
		MaxMessages: -1, MaxBytes: -2, MaxDeadLetters: -3, MaxDeadLetterBytes: -4, MaxRecord: -5, SendBatch: -6,
		Lease: -time.Second,
		Weak: mem.Weak{
			CreditPerQueue: -7, Dedup: -time.Second, RequeueBehindNew: true, RequeueInNackOrder: true,
		},
	})
	_, err := b.OpenSender(t.Context(), driver.Target{Topic: queueTopic("a")})
	if err == nil {
		t.Fatal("no error")
	}
	for _, field := range []string{
		"MaxMessages", "MaxBytes", "MaxDeadLetters", "MaxDeadLetterBytes", "MaxRecord", "SendBatch", "Lease",
		"Weak.CreditPerQueue", "Weak.Dedup", "Weak.RequeueBehindNew",
	} {
		if !strings.Contains(err.Error(), field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	for what, again := range map[string]error{
		"queue":   second(b.OpenQueue(t.Context(), driver.Source{Topics: []driver.Topic{queueTopic("a")}})),
		"declare": b.Declare(t.Context(), queueTopic("a"), driver.Declare),
		"depth":   second(b.Depth(t.Context(), driver.Source{Topics: []driver.Topic{queueTopic("a")}})),
	} {
		want(t, what, again, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestZeroBrokerSaysSo(t *testing.T) {
	t.Parallel()
	var b mem.Broker
	err := b.Declare(t.Context(), queueTopic("a"), driver.Declare)
	if err == nil || !strings.Contains(err.Error(), "New") {
		t.Errorf("got %v, want an error that names New", err)
	}
}

func TestDelaysEatCreditNeedsCredit(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{Weak: mem.Weak{DelaysEatCredit: true}})
	err := b.Declare(t.Context(), queueTopic("a"), driver.Declare)
	if err == nil || !strings.Contains(err.Error(), "CreditPerQueue") {
		t.Errorf("got %v, want an error that names CreditPerQueue", err)
	}
}

func TestOpenRefusesWhatDoesNotFit(t *testing.T) {
	t.Parallel()
	queue, fan := queueTopic("queue"), fanout("fan", "g")
	for what, open := range map[string]func(context.Context, *mem.Broker) error{
		"queue of a fan-out": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{fan}}))
		},
		"queue of a topic declared as a fan-out": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{queueTopic("fan")}}))
		},
		"group of a queue": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenGroup(ctx, driver.Source{Topics: []driver.Topic{queue}, Group: "g"}))
		},
		"group of a topic declared as a queue": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenGroup(ctx, driver.Source{Topics: []driver.Topic{fanout("queue")}, Group: "g"}))
		},
		"sender of a queue as a fan-out": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenSender(ctx, driver.Target{Topic: fanout("queue")}))
		},
		"sender to a group of a queue": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenSender(ctx, driver.Target{Topic: queue, Group: "g"}))
		},
		"queue with a group": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{queue}, Group: "g"}))
		},
		"group without a name": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenGroup(ctx, driver.Source{Topics: []driver.Topic{fan}}))
		},
		"no topics": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenQueue(ctx, driver.Source{}))
		},
		"a topic twice": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenQueue(ctx, driver.Source{Topics: []driver.Topic{queue, queue}}))
		},
		"no name": func(ctx context.Context, b *mem.Broker) error {
			return second(b.OpenSender(ctx, driver.Target{}))
		},
		"a queue with groups": func(ctx context.Context, b *mem.Broker) error {
			return b.Declare(ctx, driver.Topic{Name: "other", Groups: []string{"g"}}, driver.Declare)
		},
		"a group without a name in a topic": func(ctx context.Context, b *mem.Broker) error {
			return b.Declare(ctx, fanout("other", ""), driver.Declare)
		},
		"an ended context": func(ctx context.Context, b *mem.Broker) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return second(b.OpenSender(ctx, driver.Target{Topic: queue}))
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := mem.New(mem.Config{})
			defer func() { _ = b.Close(context.Background()) }()
			for _, d := range []driver.Topic{queue, fan} {
				if err := b.Declare(t.Context(), d, driver.Declare); err != nil {
					t.Fatal(err)
				}
			}
			if err := open(t.Context(), b); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestVerifyAndExternalCreateNothing(t *testing.T) {
	t.Parallel()
	for _, mode := range []driver.Topology{driver.Verify, driver.External} {
		t.Run(mode.String(), func(t *testing.T) {
			t.Parallel()
			b := open(t, mem.Config{})
			ctx := t.Context()
			missing, there := fanout("missing", "g"), fanout("there", "g")
			for what, err := range map[string]error{
				"declare": b.Declare(ctx, missing, mode),
				"sender":  second(b.OpenSender(ctx, driver.Target{Topic: missing, Topology: mode})),
				"group": second(b.OpenGroup(ctx, driver.Source{
					Topics: []driver.Topic{missing}, Group: "g", Topology: mode,
				})),
				"depth": second(b.Depth(ctx, driver.Source{Topics: []driver.Topic{missing}, Group: "g"})),
			} {
				wantErr(t, what+" of a missing topic", err, driver.ErrNoTopic)
			}
			if err := b.Declare(ctx, there, driver.Declare); err != nil {
				t.Fatal(err)
			}
			wantErr(t, "missing group", second(b.OpenGroup(ctx, driver.Source{
				Topics: []driver.Topic{there}, Group: "other", Topology: mode,
			})), driver.ErrNoTopic)
			if _, err := b.OpenSender(ctx, driver.Target{Topic: there, Group: "g", Topology: mode}); err != nil {
				t.Errorf("a group that is there: %v", err)
			}
		})
	}
}

func TestVerifyWantsDeclaredGroups(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	if err := b.Declare(t.Context(), fanout("fan", "a"), driver.Declare); err != nil {
		t.Fatal(err)
	}
	wantErr(t, "verify", b.Declare(t.Context(), fanout("fan", "a", "b"), driver.Verify), driver.ErrNoTopic)
	if err := b.Declare(t.Context(), fanout("fan", "a", "b"), driver.External); err != nil {
		t.Errorf("external verifies nothing, but: %v", err)
	}
}

func TestGroupExistsFromItsFirstReceiver(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	topic := fanout("fan", "early")
	s := sender(t, b, driver.Target{Topic: topic})
	send(t, s, "one")
	late := receiver(t, b, "late", topic)
	send(t, s, "two")
	want(t, "early", bodies(take(t, receiver(t, b, "early", topic), 4)), "[one two]")
	want(t, "late", bodies(take(t, late, 4)), "[two]")
}

func TestFanoutWithoutGroupsIsNotSilent(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	s := sender(t, b, driver.Target{Topic: fanout("fan")})
	err := s.Send(t.Context(), []driver.Record{{Body: []byte("x")}})
	wantErr(t, "send", err, driver.ErrNoTopic, driver.ErrNotSent)
	receiver(t, b, "g", fanout("fan"))
	if err := s.Send(t.Context(), []driver.Record{{Body: []byte("x")}}); err != nil {
		t.Errorf("with a group: %v", err)
	}
}

func TestOneReceiverOfSeveralTopics(t *testing.T) {
	t.Parallel()
	b := open(t, mem.Config{})
	one, two, three := queueTopic("one"), queueTopic("two"), queueTopic("three")
	r := receiver(t, b, "", one, two, three)
	send(t, sender(t, b, driver.Target{Topic: two}), "a")
	send(t, sender(t, b, driver.Target{Topic: three}), "b")
	ds := take(t, r, 4)
	got := map[string]string{}
	for _, d := range ds {
		got[d.Topic] = string(d.Body)
	}
	want(t, "deliveries", got, "map[three:b two:a]")
	settle(t, r, driver.Done, ds...)
	want(t, "depth", depth(t, b, "", one, two, three), "ready 0 held 0 in flight 0")
}
