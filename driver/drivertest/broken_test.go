package drivertest

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A broken broker is a correct one with some of its calls replaced. A nil field leaves the call as it is.
type broken struct {
	*mem.Broker
	open    func(b *mem.Broker, s driver.Source) (driver.Source, error) // before a receiver is opened
	target  func(b *mem.Broker, t driver.Target) driver.Target
	send    func(s driver.Sender, batch []driver.Record, send sendFunc) error
	accept  func(s driver.Accepter, r *driver.Record) bool // nil: its senders are no Accepters
	limits  func(driver.SendLimits) driver.SendLimits
	receive func(r *brokenReceiver, ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error)
	settle  func(r *brokenReceiver, ctx context.Context, batch []driver.Settlement) error
	info    func(driver.Info) driver.Info
	closing func(r *brokenReceiver, ctx context.Context) error
	closed  func(s *brokenSender, ctx context.Context) error
	depth   func(driver.Depth) driver.Depth
	declare func(error) error

	acceptCopy func(s driver.Accepter, body []byte, contentType string, published driver.Stamp) bool // nil: as it should be

	describe func(driver.Description) driver.Description

	sendAt  func(s *brokenHolder, batch []driver.Record) []driver.Record
	mute    bool                    // gives no reason for waiting
	waiting func(why string) string // another reason
	deaf    bool                    // tells of no revocation

	mu      *sync.Mutex // held while one of the functions looks at what is below, or at a receiver's
	hoarded [][]byte
	latest  driver.Stamp
}

// hoard keeps the bodies for as long as the broker lives.
func (b *broken) hoard(ds []*driver.Delivery) {
	for _, d := range ds {
		b.hoarded = append(b.hoarded, d.Body)
	}
}

type sendFunc func([]driver.Record) error

func (b *broken) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	if b.target != nil {
		t = b.target(b.Broker, t)
	}
	s, err := b.Broker.OpenSender(ctx, t)
	if err != nil {
		return nil, err
	}
	w := &brokenSender{Sender: s, b: b}
	if b.accept != nil {
		return &brokenAccepter{w}, nil
	}
	if h, ok := s.(driver.Holder); ok {
		return &brokenHolder{brokenSender: w, Holder: h}, nil
	}
	return w, nil
}

func (b *broken) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.wrap(s, func(s driver.Source) (driver.Receiver, error) { return b.Broker.OpenQueue(ctx, s) })
}

func (b *broken) OpenGroup(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	return b.wrap(s, func(s driver.Source) (driver.Receiver, error) { return b.Broker.OpenGroup(ctx, s) })
}

func (b *broken) wrap(s driver.Source, open func(driver.Source) (driver.Receiver, error)) (driver.Receiver, error) {
	if b.open != nil {
		var err error
		if s, err = b.open(b.Broker, s); err != nil {
			return nil, err
		}
	}
	r, err := open(s)
	if err != nil {
		return nil, err
	}
	return &brokenReceiver{
		Receiver: r, Revoker: r.(driver.Revoker), Waiter: r.(driver.Waiter), Sharer: r.(driver.Sharer), b: b,
		ReceiverInspector: r.(driver.ReceiverInspector),
		prefetch:          s.Prefetch,
	}, nil
}

func (b *broken) Depth(ctx context.Context, s driver.Source) (driver.Depth, error) {
	d, err := b.Broker.Depth(ctx, s)
	if b.depth != nil {
		d = b.depth(d)
	}
	return d, err
}

func (b *broken) Describe(s driver.Source) driver.Description {
	d := b.Broker.Describe(s)
	d.Holds = d.Holds && b.accept == nil // as its senders are
	if b.describe != nil {
		d = b.describe(d)
	}
	return d
}

func (b *broken) Declare(ctx context.Context, t driver.Topic, mode driver.Topology) error {
	err := b.Broker.Declare(ctx, t, mode)
	if b.declare != nil {
		err = b.declare(err)
	}
	return err
}

type brokenSender struct {
	driver.Sender
	b    *broken
	shut atomic.Bool
}

type brokenAccepter struct{ *brokenSender }

func (s *brokenAccepter) Accept(r *driver.Record) bool {
	return s.b.accept(s.Sender.(driver.Accepter), r)
}

func (s *brokenAccepter) AcceptCopy(body []byte, contentType string, published driver.Stamp) bool {
	a := s.Sender.(driver.Accepter)
	if s.b.acceptCopy == nil {
		return a.AcceptCopy(body, contentType, published)
	}
	return s.b.acceptCopy(a, body, contentType, published)
}

type brokenHolder struct {
	*brokenSender
	driver.Holder
}

func (s *brokenSender) Limits() driver.SendLimits {
	if s.b.limits != nil {
		return s.b.limits(s.Sender.Limits())
	}
	return s.Sender.Limits()
}

func (s *brokenSender) Send(ctx context.Context, batch []driver.Record) error {
	send := func(rs []driver.Record) error { return s.Sender.Send(ctx, rs) }
	if s.b.send != nil {
		return s.b.send(s.Sender, batch, send)
	}
	return send(batch)
}

func (s *brokenHolder) SendAt(ctx context.Context, batch []driver.Record) error {
	send := func(rs []driver.Record) error { return s.Holder.SendAt(ctx, rs) }
	if s.b.sendAt != nil {
		batch = s.b.sendAt(s, batch)
	}
	if s.b.send != nil {
		return s.b.send(s.Sender, batch, send)
	}
	return send(batch)
}

func (s *brokenSender) Close(ctx context.Context) error {
	if s.b.closed != nil {
		return s.b.closed(s, ctx)
	}
	return s.Sender.Close(ctx)
}

type brokenReceiver struct {
	driver.Receiver
	driver.Revoker
	driver.Waiter
	driver.Sharer
	driver.ReceiverInspector
	b     *broken
	count int // of calls, for those that break now and then
	kept  []*driver.Delivery

	prefetch  int
	unsettled atomic.Int64
}

func (r *brokenReceiver) Receive(ctx context.Context, dst []*driver.Delivery) ([]*driver.Delivery, error) {
	if r.b.receive != nil {
		return r.b.receive(r, ctx, dst)
	}
	return r.Receiver.Receive(ctx, dst)
}

func (r *brokenReceiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	if r.b.settle != nil {
		return r.b.settle(r, ctx, batch)
	}
	return r.Receiver.Settle(ctx, batch)
}

func (r *brokenReceiver) Waiting() string {
	if r.b.mute {
		return ""
	}
	if r.b.waiting != nil {
		return r.b.waiting(r.Waiter.Waiting())
	}
	return r.Waiter.Waiting()
}

func (r *brokenReceiver) Revocations() <-chan driver.Revocation {
	if r.b.deaf {
		return nil
	}
	return r.Revoker.Revocations()
}

func (r *brokenReceiver) Info() driver.Info {
	if r.b.info != nil {
		return r.b.info(r.Receiver.Info())
	}
	return r.Receiver.Info()
}

func (r *brokenReceiver) Close(ctx context.Context) error {
	if r.b.closing != nil {
		return r.b.closing(r, ctx)
	}
	return r.Receiver.Close(ctx)
}

// new returns a broker of its own that is broken as b is.
func (b broken) new() *broken {
	b.mu = &sync.Mutex{}
	b.Broker = mem.New(mem.Config{MaxRecord: 128 << 10})
	return &b
}

// harness is a harness whose broker is broken by b, a copy of which each case gets.
func (b broken) harness() Harness {
	return Harness{
		Virtual: true, Messages: 80, MaxRecord: 128 << 10,
		Setup: func(_ testing.TB, h *Harness) {
			one := b.new()
			h.Open = func(testing.TB) driver.Broker { return one }
		},
	}
}

// failing returns the names of the cases that fail, without those of the engine, those that need hooks which h has not,
// and those that exist for queues or groups too.
func failing(t *testing.T, h Harness) []string {
	t.Helper()
	found, hooks := probe(t, h)
	all := Cases()
	var names []string
	for _, c := range all {
		kind, clause, _ := strings.Cut(c.Name, "/")
		twice := slices.ContainsFunc(all, func(o Case) bool {
			return kind != "queue" && o.Name == "queue/"+clause ||
				kind == "group-sequence" && (o.Name == "group/"+clause || o.Name == "sequence/"+clause)
		})
		engine := strings.Contains(c.Name, "engine/")
		hookless := slices.ContainsFunc(c.Hooks, func(hook string) bool { return !hooks[hook] })
		if !c.Applies(found) || hookless || twice || engine {
			continue
		}
		if err := c.Check(t, h); err != nil {
			names = append(names, c.Name)
		}
	}
	return names
}

func TestCorrectBrokerPasses(t *testing.T) {
	t.Parallel()
	if names := failing(t, broken{}.harness()); len(names) > 0 {
		t.Errorf("a correct broker fails %q", names)
	}
}

func TestEveryCaseHasAName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range Cases() {
		if c.Name == "" || c.Sentence == "" || c.Run == nil {
			t.Errorf("%+v is not complete", c)
		}
		if seen[c.Name] {
			t.Errorf("two cases are named %q", c.Name)
		}
		seen[c.Name] = true
		if last := c.Sentence[len(c.Sentence)-1]; last != '.' {
			t.Errorf("%s: %q is no sentence", c.Name, c.Sentence)
		}
	}
}

// quick is a harness that gives up soon and runs outside a bubble, for brokers that hang.
func (b broken) quick() Harness {
	h := b.harness()
	h.Virtual = false
	h.Wait = time.Second
	h.Quiet = 20 * time.Millisecond
	return h
}
