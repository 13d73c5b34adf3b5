package timing_test

import (
	"context"
	"sync"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

// A broker is what both brokers of package mem can.
type broker interface {
	driver.Queuer
	driver.Grouper
	driver.Sequencer
	driver.GroupSequencer
	driver.Broadcaster
	driver.Inspector
	driver.Declarer
	driver.Describer
}

// queues is the in-process broker.
func queues(c mem.Config) place {
	return func(w *world) {
		c.Poison = true
		w.mem = mem.New(c)
		w.broker = w.mem
	}
}

// plain is the in-process broker as it comes.
func plain() place { return queues(mem.Config{}) }

// delaying nothing is a broker that forgets at exit and cannot delay, so that retries wait in hold topics.
func undelayed() place { return queues(mem.Config{Weak: mem.Weak{NoHold: true}}) }

// logs is the log in the process.
func logs(partitions int) place {
	return func(w *world) {
		w.log = mem.NewLog(mem.LogConfig{Partitions: partitions, Poison: true})
		w.broker = w.log
	}
}

// watched is a broker whose receivers can be ended and whose opening can be held up.
func watched(on place) place {
	return func(w *world) {
		on(w)
		w.stand = &stand{broker: w.broker, open: map[string][]driver.Receiver{}}
		w.broker = w.stand
	}
}

// keeping is a broker that does not say that it forgets at exit, so that a stopping consumer leaves its messages to the next.
func keeping(on place) place {
	return func(w *world) {
		watched(on)(w)
		w.stand.keeps = true
	}
}

// A stand stands before a broker.
type stand struct {
	broker
	keeps bool

	mu   sync.Mutex // guards the fields below
	hook func(ctx context.Context) error
	open map[string][]driver.Receiver // by topic, in the order in which they were opened
}

// opening calls f before anything is received from; nil is nothing.
func (s *stand) opening(f func(ctx context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// opened is how many receivers of a topic were opened.
func (s *stand) opened(topic string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open[topic])
}

// kill ends the nth receiver of a topic as if its process had died.
func (s *stand) kill(w *world, topic string, n int) {
	w.Helper()
	s.mu.Lock()
	all := s.open[topic]
	s.mu.Unlock()
	if n >= len(all) {
		w.Errorf("%d receivers of %s were opened, and not %d", len(all), topic, n+1)
		return
	}
	r := all[n]
	var err error
	if w.log != nil {
		err = w.log.Faults().Crash(r)
	} else {
		err = r.Close(context.Background())
	}
	if err != nil {
		w.Errorf("kill: %v", err)
	}
}

type openFunc func(context.Context, driver.Source) (driver.Receiver, error)

func (s *stand) of(ctx context.Context, src driver.Source, open openFunc) (driver.Receiver, error) {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil {
		if err := hook(ctx); err != nil {
			return nil, err
		}
	}
	r, err := open(ctx, src)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.open[src.Topics[0].Name] = append(s.open[src.Topics[0].Name], r)
	s.mu.Unlock()
	if !s.keeps {
		return r, nil
	}
	k := kept{r.(able)}
	sharer, shares := r.(driver.Sharer)
	extender, leases := r.(driver.Extender)
	switch {
	case leases:
		return keptLease{keptShare{k, sharer}, extender}, nil
	case shares:
		return keptShare{k, sharer}, nil
	default:
		return k, nil
	}
}

func (s *stand) OpenQueue(ctx context.Context, src driver.Source) (driver.Receiver, error) {
	return s.of(ctx, src, s.broker.OpenQueue)
}

func (s *stand) OpenGroup(ctx context.Context, src driver.Source) (driver.Receiver, error) {
	return s.of(ctx, src, s.broker.OpenGroup)
}

func (s *stand) OpenSequence(ctx context.Context, src driver.Source) (driver.Receiver, error) {
	return s.of(ctx, src, s.broker.OpenSequence)
}

func (s *stand) OpenGroupSequence(ctx context.Context, src driver.Source) (driver.Receiver, error) {
	return s.of(ctx, src, s.broker.OpenGroupSequence)
}

func (s *stand) OpenBroadcast(ctx context.Context, src driver.Source) (driver.Receiver, error) {
	return s.of(ctx, src, s.broker.OpenBroadcast)
}

// able is what the receivers of both brokers can.
type able interface {
	driver.Receiver
	driver.Revoker
	driver.Waiter
	driver.ReceiverInspector
}

// kept is a receiver that does not say that its broker forgets.
type kept struct{ able }

func (k kept) Info() driver.Info {
	i := k.able.Info()
	i.Volatile = false
	return i
}

type keptShare struct {
	kept
	driver.Sharer
}

type keptLease struct {
	keptShare
	driver.Extender
}
