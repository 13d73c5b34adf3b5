package codecost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/progress"
)

// Options say what is counted, and how often.
type Options struct {
	// Tree is a folder of the source tree whose program is built; empty is the working directory.
	Tree string
	// Only are the names of scenarios; empty is all.
	Only []string
	// Messages is N; zero is 25,600, which every batch of the scenarios divides.
	Messages int64
	// Runs is how often each scenario is counted; zero is seven.
	Runs int
	// NoInstructions leaves instructions out, and with them the need for valgrind. Such rows are for a ceiling, not for a
	// document, where a count of nothing would be a zero.
	NoInstructions bool
}

const (
	defaultMessages = 25_600
	leastMessages   = 20_000
	defaultRuns     = 7
)

// Expected is about how long [Run] takes with these options on two processors.
func (o Options) Expected() time.Duration {
	scenarios, err := find(o.Only)
	if err != nil {
		return 0
	}
	return time.Duration(len(scenarios)*o.withDefaults().Runs) * expectedRun
}

// expectedRun is about what one run of one scenario takes, with two processors sharing its processes.
const expectedRun = 2 * time.Second

func (o Options) withDefaults() Options {
	if o.Tree == "" {
		o.Tree = "."
	}
	if o.Messages == 0 {
		o.Messages = defaultMessages
	}
	if o.Runs == 0 {
		o.Runs = defaultRuns
	}
	return o
}

func (o Options) check() error {
	if o.Messages < leastMessages {
		return fmt.Errorf("%d messages are too few for a slope: want at least %d", o.Messages, leastMessages)
	}
	if o.Runs < 1 {
		return fmt.Errorf("%d runs: want at least 1", o.Runs)
	}
	return nil
}

// Run counts scenarios and returns a row for each, in the order of [Scenarios]. A scenario that could not be counted has
// the reason in its row, and Run's error names it too. When ctx ends, the rows that are not finished say so, and the error
// is ctx's. The rows' derived fields are left to the document.
//
// It builds the program from the source tree, so it needs the go command; without valgrind it counts nothing, unless the
// options leave instructions out.
func Run(ctx context.Context, o Options, meter progress.Meter) ([]document.Row, error) {
	o = o.withDefaults()
	scenarios, err := find(o.Only)
	if err != nil {
		return nil, err
	}
	if err := o.check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "wherry-codecost-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	p, err := prepare(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	return p.count(ctx, o, scenarios, meter)
}

func (p *program) count(ctx context.Context, o Options, scenarios []Scenario, meter progress.Meter) ([]document.Row, error) {
	plan(meter, o, scenarios)
	rows := make([]document.Row, 0, len(scenarios))
	var failures []error
	for _, s := range scenarios {
		row := document.Row{Cell: s.Cell(), Method: document.Count, Settings: s.settings(o)}
		if s.Missing != "" {
			row.NotShown = &document.Reason{Code: document.Unsupported, Text: s.Missing}
			rows = append(rows, row)
			continue
		}
		begin(meter, s.Name)
		code, err := p.countOne(ctx, o, s)
		switch {
		case ctx.Err() != nil:
			row.NotShown = &document.Reason{Code: document.NotMeasured, Text: "interrupted"}
		case err != nil:
			row.NotShown = &document.Reason{Code: document.Failed, Text: err.Error()}
			failures = append(failures, fmt.Errorf("%s: %w", s.Name, err))
		default:
			row.Code = code
		}
		end(meter, row)
		rows = append(rows, row)
	}
	if ctx.Err() != nil {
		return rows, context.Cause(ctx)
	}
	return rows, errors.Join(failures...)
}

func (s Scenario) settings(o Options) []string {
	set := []string{fmt.Sprint("messages=", o.Messages)}
	switch s.work {
	case "channel", "channel-bare":
		set = append(set, "buffer=10000")
	case "hand", "hand-drain":
		set = append(set, "send=1", "receive=32", "settle=32")
	case "batch":
		set = append(set, "batch=64")
	case "publish-all":
		set = append(set, "batch=100")
	case "redelivery":
		set = append(set, "failures=1/10", "delay=1ms")
	}
	if s.middleware != "" {
		set = append(set, "middleware="+s.middleware, fmt.Sprint("times=", s.times))
	}
	return set
}

// countOne counts one scenario as often as the options say, as many processes at a time as there are processors: what
// they count does not depend on when they run.
func (p *program) countOne(ctx context.Context, o Options, s Scenario) (*document.Code, error) {
	code := &document.Code{Over: s.Over, Runs: make([]document.CodeRun, o.Runs)}
	n := o.Messages
	tasks := make([]func() error, 0, 6*o.Runs)
	for i := range code.Runs {
		r := &code.Runs[i]
		r.N = n
		tasks = append(tasks,
			func() (err error) { r.BlocksN, r.BytesN, err = p.allocations(ctx, s, n, 2*n); return err },
			func() (err error) { r.Blocks2N, r.Bytes2N, err = p.allocations(ctx, s, 2*n, 2*n); return err },
			func() (err error) { r.ColdBlocks, _, err = p.allocations(ctx, s, 1, 1); return err },
		)
		if o.NoInstructions {
			continue
		}
		tasks = append(tasks,
			func() (err error) { r.InstrN, err = p.instructions(ctx, s, n, 2*n); return err },
			func() (err error) { r.Instr2N, err = p.instructions(ctx, s, 2*n, 2*n); return err },
			func() (err error) { r.ColdInstr, err = p.instructions(ctx, s, 1, 1); return err },
		)
	}
	if err := together(tasks); err != nil {
		return nil, err
	}
	if o.NoInstructions {
		return code, nil
	}
	for _, r := range code.Runs {
		if err := grows(r); err != nil {
			return nil, err
		}
	}
	return code, nil
}

// grows refuses a run whose second total is not at least an instruction per message above the first.
func grows(r document.CodeRun) error {
	if r.Instr2N-r.InstrN < r.N {
		return fmt.Errorf("%d messages took %d instructions and %d took %d: the count does not grow with the messages, so it is not theirs",
			r.N, r.InstrN, 2*r.N, r.Instr2N)
	}
	return nil
}

// together runs tasks, as many at a time as there are processors, and returns the first error of each that failed, the
// same text once.
func together(tasks []func() error) error {
	free := make(chan struct{}, runtime.NumCPU())
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		errs []error // guarded by mu
		seen = map[string]bool{}
	)
	for _, task := range tasks {
		free <- struct{}{}
		all.Go(func() {
			defer func() { <-free }()
			err := task()
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if !seen[err.Error()] {
				seen[err.Error()] = true
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
