package mem_test

import (
	"context"
	"strings"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// Senders and receivers say what was closed: themselves, or the broker.
func TestClosedSaysWhat(t *testing.T) {
	t.Parallel()
	type broker interface {
		driver.Queuer
		driver.Broadcaster
	}
	for name, open := range map[string]func() broker{
		"queues": func() broker { return mem.New(mem.Config{}) },
		"log":    func() broker { return mem.NewLog(mem.LogConfig{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, ends := range []string{"its own", "broker"} {
				b := open()
				topic, fan := driver.Topic{Name: "orders"}, driver.Topic{Name: "news", Fanout: true}
				s, err := b.OpenSender(t.Context(), driver.Target{Topic: topic})
				noErr(t, err)
				q, err := b.OpenQueue(t.Context(), driver.Source{Topics: []driver.Topic{topic}, Prefetch: 1})
				noErr(t, err)
				reader, err := b.OpenBroadcast(t.Context(), driver.Source{Topics: []driver.Topic{fan}, Prefetch: 1})
				noErr(t, err)
				sender, receiver := "mem: broker closed", "mem: broker closed"
				if ends == "its own" {
					sender, receiver = "mem: sender closed", "mem: receiver closed"
					noErr(t, s.Close(t.Context()))
					noErr(t, q.Close(t.Context()))
					noErr(t, reader.Close(t.Context()))
				} else {
					noErr(t, b.Close(t.Context()))
				}
				wantText(t, "Send", s.Send(t.Context(), []driver.Record{{Body: []byte("x")}}), sender)
				for what, r := range map[string]driver.Receiver{"queue": q, "reader": reader} {
					_, err := r.Receive(t.Context(), make([]*driver.Delivery, 0, 1))
					wantText(t, what, err, receiver)
				}
				noErr(t, b.Close(context.Background()))
			}
		})
	}
}

func noErr(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantText(t *testing.T, what string, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("%s: %v, want %q", what, err, text)
	}
}
