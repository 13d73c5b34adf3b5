package wherrytest_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

// A late broker does what it is asked and returns when it is told to.
type late struct {
	*mem.Broker
	sent, settled chan struct{} // closed to let calls return
}

func (l *late) OpenSender(ctx context.Context, t driver.Target) (driver.Sender, error) {
	s, err := l.Broker.OpenSender(ctx, t)
	return lateSender{s, l.sent}, err
}

func (l *late) OpenQueue(ctx context.Context, s driver.Source) (driver.Receiver, error) {
	r, err := l.Broker.OpenQueue(ctx, s)
	return lateReceiver{r, l.settled}, err
}

type lateSender struct {
	driver.Sender
	returns <-chan struct{}
}

func (s lateSender) Send(ctx context.Context, batch []driver.Record) error {
	err := s.Sender.Send(ctx, batch)
	<-s.returns
	return err
}

type lateReceiver struct {
	driver.Receiver
	returns <-chan struct{}
}

func (r lateReceiver) Settle(ctx context.Context, batch []driver.Settlement) error {
	err := r.Receiver.Settle(ctx, batch)
	<-r.returns
	return err
}

// The broker has nothing any more before the call that settled it is over, and what it has may be done before the call
// that sent it is.
func TestWhatIsNotBookedIsNotOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		l := &late{Broker: b, sent: make(chan struct{}), settled: make(chan struct{})}
		tt := wherrytest.New(t, wherrytest.OnBroker(l))
		in := wherrytest.Probe(tt, orders)
		tt.Run(wherry.Consume(wherry.Queue(tt.Broker(), orders), fail))
		pub, err := wherry.NewPublisher(t.Context(), tt.Broker(), orders)
		assert.NoError(t, err)
		published, quiet := make(chan error, 1), make(chan error, 1)
		go func() { published <- pub.Publish(t.Context(), &order{ID: 1}) }()
		synctest.Wait()
		go func() { quiet <- tt.Wait(t.Context()) }()
		for _, returns := range []chan struct{}{l.settled, l.sent} {
			synctest.Wait()
			select {
			case err := <-quiet:
				t.Errorf("quiet while a call has not returned, with %v and %+v", err, in.Counts())
			default:
			}
			close(returns)
		}
		assert.NoError(t, <-published)
		assert.NoError(t, <-quiet)
		in.Expect(wherrytest.Counts{Published: 1, Handled: 1})
		assert.NoError(t, pub.Close(t.Context()))
		assert.NoError(t, tt.Stop())
	})
}

// A slow broker's first answer about a topic is old when it comes: meanwhile happens happens.
type slow struct {
	*mem.Broker
	topic   string
	happens func()
	once    sync.Once
}

func (s *slow) Depth(ctx context.Context, from driver.Source) (driver.Depth, error) {
	d, err := s.Broker.Depth(ctx, from)
	if from.Topics[0].Name == s.topic {
		s.once.Do(s.happens)
	}
	return d, err
}

// A message that moves from a topic that is looked at last to one that was looked at first is not overlooked.
func TestWhatMovesMeanwhileIsSeen(t *testing.T) {
	t.Parallel()
	first, last := wherry.NewTopic("a", codec.Text{}), wherry.NewTopic("b", codec.Text{})
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		old := &slow{Broker: b, topic: first.Name()}
		tt := wherrytest.New(t, wherrytest.OnBroker(old))
		pub, err := wherry.NewPublisher(t.Context(), tt.Broker(), first)
		assert.NoError(t, err)
		to := wherry.Consume(wherry.Queue(tt.Broker(), first), wherrytest.Record[string](nil).Handle)
		from := wherry.Consume(wherry.Queue(tt.Broker(), last),
			func(ctx context.Context, m *wherry.Message[string]) wherry.Outcome {
				if err := pub.Publish(ctx, &m.Value); err != nil {
					return wherry.Retry(err)
				}
				return wherry.Ack()
			})
		goOnTo, goOnFrom := to.Pause("not yet"), from.Pause("not yet")
		old.happens = func() {
			goOnFrom()
			time.Sleep(time.Millisecond)
		}
		tt.Run(to, from)
		wherrytest.Probe(tt, last).Publish("moves")
		quiet := make(chan error, 1)
		go func() { quiet <- tt.Wait(t.Context()) }()
		time.Sleep(10 * time.Millisecond)
		select {
		case err := <-quiet:
			t.Errorf("quiet while a message waits, with %v", err)
		default:
		}
		goOnTo()
		assert.NoError(t, <-quiet)
		wherrytest.Probe(tt, first).Expect(wherrytest.Counts{Published: 1, Handled: 1})
		assert.NoError(t, pub.Close(t.Context()))
		assert.NoError(t, tt.Stop())
	})
}
