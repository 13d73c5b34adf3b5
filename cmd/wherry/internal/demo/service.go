package demo

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/cmd/wherry/internal/ledger"
	"github.com/wherryhq/wherry/mem"
)

// service is the orders service. It is made by newService and runs once. What it shows of itself may be asked for at any
// time.
type service struct {
	cfg    Config
	broker *mem.Broker
	ledger *ledger.Ledger
	fault  faultPlan
	desk   *desk
	sales  sales
	dead   *deadLetters
	events *events

	payment, stock, report *wherry.Consumer
	deadLetters            *wherry.Consumer
	phase                  atomic.Int32 // a phase
}

// phase is how far the service is.
type phase int32

const (
	starting phase = iota
	publishing
	draining
	stopped
)

// String returns "starting", "publishing", "draining" or "stopped".
func (p phase) String() string {
	return [...]string{"starting", "publishing", "draining", "stopped"}[p]
}

// newService wires everything up. Nothing is consumed before run.
func newService(ctx context.Context, cfg Config) (*service, error) {
	s := &service{cfg: cfg, broker: mem.New(mem.Config{}), ledger: ledger.New(groups()...)}
	s.fault = planFault(&cfg, s.broker.Faults())
	s.dead = newDeadLetters(s.ledger)
	s.events = newEvents()

	orders := ordersTopic()
	tell, stall, exact := wherry.OnEvent(s.events.observe), wherry.StallAfter(s.fault.stallAfter()), wherry.ExactTime()

	s.payment = wherry.Consume(wherry.Group(s.broker, paymentGroup, orders), pay,
		wherry.Name(paymentGroup), wherry.Concurrency(8), wherry.RetryWith(paymentRetries()), wherry.Use(book(s.ledger)), tell, stall, exact)
	s.stock = wherry.Consume(wherry.Group(s.broker, stockGroup, orders), wherry.Func(reserve),
		wherry.Name(stockGroup), wherry.Use(book(s.ledger)), tell, stall, exact)
	s.report = wherry.ConsumeBatch(wherry.Group(s.broker, reportGroup, orders), s.sales.add,
		wherry.Name(reportGroup), wherry.BatchSize(100), wherry.UseBatch(bookBatch(s.ledger)), tell, stall, exact)
	s.deadLetters = wherry.Consume(wherry.Queue(s.broker, wherry.DeadLetters(orders)), s.dead.add, tell, stall)

	var err error
	s.desk, err = openDesk(ctx, s, orders)
	return s, err
}

// consumers are all that run.
func (s *service) consumers() []wherry.Runner {
	return []wherry.Runner{s.payment, s.stock, s.report, s.deadLetters}
}

// run publishes until it is told to stop by the end of ctx, or its duration is over, or its input ends. Then it stops: a
// broker in the process is emptied before its consumers end.
func (s *service) run(ctx context.Context) error {
	defer s.enter(stopped)
	consuming, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	sending, failed := context.WithCancel(context.WithoutCancel(ctx))
	defer failed()
	ran := make(chan error, 1)
	s.events.expect(len(s.consumers()))
	go func() {
		ran <- wherry.Run(consuming, s.consumers()...)
		failed() // whoever waits for room in the queue would wait in vain
	}()
	select {
	case <-s.events.started:
	case err := <-ran:
		return errors.Join(err, s.close())
	}
	s.enter(publishing)
	err := s.publish(ctx, sending)
	s.enter(draining)
	stop()
	return errors.Join(err, <-ran, s.close())
}

// publish publishes for the duration, and stalls the broker meanwhile if that is asked for.
func (s *service) publish(ctx, sending context.Context) error {
	finish := s.fault.start(ctx)
	defer finish()
	during := ctx
	if s.cfg.Duration > 0 {
		timed, end := context.WithTimeout(ctx, s.cfg.Duration)
		defer end()
		during = timed
	}
	p := newPace(s.cfg.Rate)
	if s.cfg.Input != nil {
		return s.desk.copy(during, sending, s.cfg.Input, p)
	}
	return s.desk.make(during, sending, p)
}

func (s *service) close() error {
	ctx := context.Background()
	return errors.Join(s.desk.close(ctx), s.broker.Close(ctx))
}

func (s *service) enter(p phase) { s.phase.Store(int32(p)) }
