package drivertest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/wherryhq/wherry/driver"
)

// benchSizes are the batches that Bench measures.
var benchSizes = []int{1, 32, 256}

// Bench measures sending, receiving and settling, and all of it together, by batch size, with bodies of 128 bytes. Each
// reports messages per second besides the time for one message, and fails unless every message that it sent was
// received and settled once. It uses the broker's queue, or else a group. Virtual is ignored.
func Bench(b *testing.B, h Harness) {
	b.Helper()
	h = h.withDefaults()
	h.Virtual = false
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("send/%d", n), func(b *testing.B) { newBench(b, h, n).send() })
	}
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("receive/%d", n), func(b *testing.B) { newBench(b, h, n).receive() })
	}
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("loop/%d", n), func(b *testing.B) { newBench(b, h, n).loop() })
	}
}

// A bench is one queue with one sender and one receiver.
type bench struct {
	b        *testing.B
	ctx      context.Context
	sender   driver.Sender
	receiver driver.Receiver
	batch    []driver.Record
	dst      []*driver.Delivery
	settled  []driver.Settlement
	sum      uint64 // of the sequence numbers sent, less those received
	seq      uint64
	left     int // sent and not yet received
}

func newBench(b *testing.B, h Harness, n int) *bench {
	b.Helper()
	h = h.begin(b)
	broker := h.Open(b)
	x := &bench{b: b, ctx: b.Context(), batch: make([]driver.Record, n), dst: make([]*driver.Delivery, 0, n)}
	k := queueKind
	if !k.can(broker) {
		k = groupKind
	}
	topic := driver.Topic{Name: h.Topic(b), Fanout: k.fanout}
	source := driver.Source{Topics: []driver.Topic{topic}, Prefetch: max(n, 32)}
	if k.grouped {
		source.Group = "bench"
		source.Topics[0].Groups = []string{source.Group}
	}
	var err error
	if x.sender, err = broker.OpenSender(x.ctx, driver.Target{Topic: source.Topics[0]}); err != nil {
		b.Fatal(err)
	}
	if x.receiver, err = k.open(x.ctx, broker, source); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx := context.Background()
		if err := errors.Join(x.sender.Close(ctx), x.receiver.Close(ctx), broker.Close(ctx)); err != nil {
			b.Error(err)
		}
	})
	const bodySize = 128
	for i := range x.batch {
		x.batch[i] = driver.Record{Body: make([]byte, bodySize), ContentType: "application/octet-stream"}
	}
	return x
}

// put sends one batch.
func (x *bench) put() {
	limits := x.sender.Limits()
	for i := range x.batch {
		x.seq++
		x.batch[i].ID = driver.ID{Prefix: 1, Seq: x.seq}
		x.batch[i].Key = x.batch[i].Body[:0]
		x.sum += x.seq
	}
	part := x.batch
	for len(part) > 0 {
		n := len(part)
		if limits.MaxBatch > 0 {
			n = min(n, limits.MaxBatch)
		}
		if err := x.sender.Send(x.ctx, part[:n]); err != nil {
			x.b.Fatal(err)
		}
		part = part[n:]
	}
	x.left += len(x.batch)
}

// get receives and settles n messages.
func (x *bench) get(n int) {
	for n > 0 {
		ds, err := x.receiver.Receive(x.ctx, x.dst[:0:min(n, cap(x.dst))])
		if err != nil && len(ds) == 0 {
			x.b.Fatal(err)
		}
		x.settled = x.settled[:0]
		for _, d := range ds {
			x.sum -= sequence(d.ID)
			x.settled = append(x.settled, driver.Settlement{Delivery: d, Verdict: driver.Done})
		}
		if err := x.receiver.Settle(x.ctx, x.settled); err != nil {
			x.b.Fatal(err)
		}
		n -= len(ds)
		x.left -= len(ds)
	}
}

// sequence is the number of a bench's id, which a broker may have carried as a text.
func sequence(id driver.ID) uint64 {
	if id.Text == "" {
		return id.Seq
	}
	var prefix, seq uint64
	if _, err := fmt.Sscanf(id.Text, "%x-%d", &prefix, &seq); err != nil {
		return 0
	}
	return seq
}

// check fails the benchmark unless everything that was sent came once, and reports the rate.
func (x *bench) check(messages int) {
	x.b.Helper()
	if x.left != 0 || x.sum != 0 {
		x.b.Fatalf("%d messages are missing or came twice; sums differ by %d", x.left, x.sum)
	}
	if s := x.b.Elapsed().Seconds(); s > 0 {
		x.b.ReportMetric(float64(messages)/s, "msg/s")
		x.b.ReportMetric(s*1e9/float64(messages), "ns/msg")
	}
}

// most is how many messages wait at a time, below the bound of any queue.
const most = 4096

func (x *bench) send() {
	n := 0
	for x.b.Loop() {
		x.put()
		n += len(x.batch)
		if x.left >= most {
			x.b.StopTimer()
			x.get(x.left)
			x.b.StartTimer()
		}
	}
	x.b.StopTimer()
	x.get(x.left)
	x.check(n)
}

func (x *bench) receive() {
	n := 0
	for x.b.Loop() {
		if x.left == 0 {
			x.b.StopTimer()
			for x.left < most {
				x.put()
			}
			x.b.StartTimer()
		}
		x.get(len(x.batch))
		n += len(x.batch)
	}
	x.b.StopTimer()
	x.get(x.left)
	x.check(n)
}

func (x *bench) loop() {
	n := 0
	for x.b.Loop() {
		x.put()
		x.get(len(x.batch))
		n += len(x.batch)
	}
	x.check(n)
}
