// Command cost counts the instructions and allocations of a message. It is for those who change Wherry: see package
// codecost, and make cost, make bench-gate and make ceiling.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/wherryhq/wherry/bench/codecost"
	"github.com/wherryhq/wherry/bench/document"
	"github.com/wherryhq/wherry/bench/progress"
	"github.com/wherryhq/wherry/bench/quantity"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := cost(ctx, os.Args[1:])
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// settings are what the flags say.
type settings struct {
	codecost.Options

	profile, gate, rewrite  bool
	baseline, save, against string
}

func cost(ctx context.Context, args []string) error {
	var s settings
	flags := flag.NewFlagSet("cost", flag.ContinueOnError)
	flags.StringVar(&s.Tree, "tree", ".", "`folder` of the source tree, its root")
	flags.Int64Var(&s.Messages, "n", 0, "N, the messages of the shorter of two runs")
	flags.IntVar(&s.Runs, "runs", 1, "how often each scenario is counted")
	flags.BoolVar(&s.NoInstructions, "no-instructions", false, "count allocations only, without valgrind")
	flags.BoolVar(&s.profile, "profile", false, "print where the instructions are, by function")
	flags.BoolVar(&s.gate, "gate", false, "fail when a scenario allocates more than the committed ceiling")
	flags.StringVar(&s.baseline, "baseline", "", "fail when a scenario takes more instructions than at this `commit`")
	flags.BoolVar(&s.rewrite, "rewrite", false, "write the ceiling anew")
	flags.StringVar(&s.save, "save", "", "keep what was counted in a `file`")
	flags.StringVar(&s.against, "against", "", "show beside it what was kept in a `file`")
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: cost [flags] [scenario ...], or \"cost all\"")
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	s.Only = flags.Args()
	if len(s.Only) == 1 && s.Only[0] == "all" {
		s.Only = nil
	} else if len(s.Only) == 0 && !s.gate && !s.rewrite && s.baseline == "" {
		list()
		return nil
	}
	switch {
	case s.profile:
		return s.printProfile(ctx)
	case s.rewrite && s.NoInstructions:
		return errors.New("-rewrite with -no-instructions would write a ceiling without them")
	case s.baseline != "" && s.NoInstructions:
		return errors.New("-baseline compares instructions: leave out -no-instructions")
	case len(s.Only) > 0 && (s.gate || s.rewrite):
		return errors.New("-gate and -rewrite are about all scenarios: name none")
	default:
		return s.count(ctx)
	}
}

// list names the scenarios.
func list() {
	fmt.Fprintln(os.Stdout, "Name one or more scenarios, or all:")
	for _, s := range codecost.Scenarios() {
		switch {
		case s.Missing != "":
			fmt.Fprintf(os.Stdout, "  %-18s %s\n", s.Name, s.Missing)
		case s.Over != "":
			fmt.Fprintf(os.Stdout, "  %-18s compared with %s\n", s.Name, s.Over)
		default:
			fmt.Fprintln(os.Stdout, " ", s.Name)
		}
	}
}

func (s *settings) printProfile(ctx context.Context) error {
	if len(s.Only) != 1 {
		return fmt.Errorf("a profile is of one scenario: got %d (%s)", len(s.Only), strings.Join(s.Only, " "))
	}
	text, err := codecost.Profile(ctx, s.Only[0], s.Options)
	if err != nil {
		return err
	}
	fmt.Fprint(os.Stdout, text)
	return nil
}

func (s *settings) count(ctx context.Context) error {
	before, err := s.before(ctx)
	if err != nil {
		return err
	}
	if s.gate && s.baseline == "" && !s.NoInstructions {
		if err := s.try(ctx); err != nil {
			return err
		}
		s.NoInstructions = true
	}
	rows, err := codecost.Run(ctx, s.Options, &line{})
	if rows != nil {
		codecost.Print(os.Stdout, rows, before)
	}
	if err != nil {
		return err
	}
	if s.save != "" {
		text, err := json.Marshal(rows)
		if err != nil {
			return err
		}
		if err := os.WriteFile(s.save, text, 0o600); err != nil {
			return err
		}
	}
	return s.judge(rows, before)
}

// tried are the scenarios whose instructions are counted by a gate that has nothing to compare them with, so that a
// machine or a change by which they cannot be counted is found.
var tried = []string{"hand", "live", "consume"}

func (s *settings) try(ctx context.Context) error {
	o := s.Options
	o.Only = tried
	rows, err := codecost.Run(ctx, o, &line{})
	if rows != nil {
		codecost.Print(os.Stdout, rows, nil)
	}
	return err
}

// before are the rows that what is counted is compared with: of a commit, of a file, or none.
func (s *settings) before(ctx context.Context) ([]document.Row, error) {
	if s.baseline != "" {
		fmt.Fprintf(os.Stderr, "counting the baseline %s\n", s.baseline)
		return codecost.Baseline(ctx, s.baseline, s.Options, &line{})
	}
	if s.against == "" {
		return nil, nil
	}
	text, err := os.ReadFile(s.against)
	if err != nil {
		return nil, err
	}
	var rows []document.Row
	if err := json.Unmarshal(text, &rows); err != nil {
		return nil, fmt.Errorf("%s: %w", s.against, err)
	}
	return rows, nil
}

// judge fails when a ceiling or the baseline is exceeded.
func (s *settings) judge(rows, before []document.Row) error {
	name := filepath.Join(s.Tree, filepath.FromSlash(codecost.CeilingFile))
	if s.rewrite {
		return codecost.NewCeiling(rows).Write(name)
	}
	if !s.gate && s.baseline == "" {
		return nil
	}
	ceiling, err := codecost.ReadCeiling(name)
	if err != nil {
		return err
	}
	var wrong []string
	if s.gate {
		wrong = ceiling.Check(rows)
	}
	if s.baseline != "" {
		compared := codecost.Compared(before, rows)
		if compared == 0 {
			return fmt.Errorf("nothing is compared: no scenario has instructions both at the baseline %s and now", s.baseline)
		}
		fmt.Fprintf(os.Stdout, "%d of %s have instructions at the baseline %s\n", compared, quantity.Count(len(rows), "scenario"), s.baseline)
		wrong = append(wrong, codecost.Compare(before, rows, ceiling)...)
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d findings:\n  %s", len(wrong), strings.Join(wrong, "\n  "))
	}
	fmt.Fprintf(os.Stdout, "%s within their limits\n", quantity.Count(len(rows), "scenario"))
	return nil
}

// A line is a meter that says what is done on one line each, with the time left.
type line struct {
	left time.Duration
	step []progress.Step
}

// Plan notes the steps.
func (l *line) Plan(steps []progress.Step) {
	l.step = steps
	for _, s := range steps {
		l.left += s.Expected
	}
}

// Begin names the step.
func (l *line) Begin(name string) {
	fmt.Fprintf(os.Stderr, "%-18s about %v left  ", name, l.left.Round(time.Second))
}

// End says what came of it.
func (l *line) End(result string) {
	fmt.Fprintln(os.Stderr, result)
	if len(l.step) > 0 {
		l.left -= l.step[0].Expected
		l.step = l.step[1:]
	}
}
