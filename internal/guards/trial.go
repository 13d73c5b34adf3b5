package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// A trial is how guards are judged.
type trial struct {
	// root is the absolute path of the tree.
	root string
	// only chooses guards whose file, test or text contains it.
	only string
	// part and parts choose of those every one whose place leaves part when it is divided by parts; 0 parts is all.
	part, parts int
	// jobs is how many are judged at a time.
	jobs int
	// timeout bounds each test: without its guard it may well wait for ever.
	timeout time.Duration
	out     io.Writer
}

// run judges the guards of a tree and returns the number of those that nobody would miss.
func (t *trial) run(ctx context.Context) (int, error) {
	all, err := find(os.DirFS(t.root))
	if err != nil {
		return 0, err
	}
	var chosen []*guard
	for i := range all {
		g := &all[i]
		if strings.Contains(g.path+" "+g.test+" "+g.says, t.only) {
			chosen = append(chosen, g)
		}
	}
	suiting := len(chosen)
	chosen = t.partOf(chosen)
	before := t.before(ctx, chosen)
	var (
		bad   []string // a line for each
		first error
		mu    sync.Mutex // guards bad, first and the output
		wg    sync.WaitGroup
		free  = make(chan struct{}, max(t.jobs, 1))
	)
	for _, g := range chosen {
		free <- struct{}{}
		wg.Go(func() {
			defer func() { <-free }()
			v, why, err := before[g.pkg].verdicts[g.test], before[g.pkg].out, error(nil)
			if v == passed {
				v, why, err = t.judge(ctx, g)
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				first = err
				return
			}
			line := report(g, v)
			fmt.Fprintln(t.out, line)
			if v != failed {
				bad = append(bad, line)
				fmt.Fprintln(t.out, indent(why))
			}
		})
	}
	wg.Wait()
	if first != nil {
		return len(bad), first
	}
	if len(chosen) == 0 {
		fmt.Fprintln(t.out, "guards: none is described")
		return 0, nil
	}
	if len(chosen) < suiting {
		fmt.Fprintf(t.out, "guards: part %d of %d, which is %d of %d\n", t.part+1, t.parts, len(chosen), suiting)
	}
	fmt.Fprintf(t.out, "guards: %d removed in turn, %d missed by their tests, %d not\n", len(chosen), len(chosen)-len(bad), len(bad))
	for _, line := range bad {
		fmt.Fprintln(t.out, line) // Once more, where whoever reads only the end sees it.
	}
	return len(bad), nil
}

// partOf is the part of the guards that this trial has.
func (t *trial) partOf(all []*guard) []*guard {
	if t.parts <= 1 {
		return all
	}
	var own []*guard
	for i, g := range all {
		if i%t.parts == t.part {
			own = append(own, g)
		}
	}
	return own
}

func report(g *guard, v verdict) string {
	line := fmt.Sprintf("%-8s %s %s: %s", v, g.pkg, g.test, g.says)
	if g.fault != "" {
		line += fmt.Sprintf(" (fault %s)", g.fault)
	}
	return line
}

// indent returns the end of a text, set off from the line that it explains.
func indent(text string) string {
	const most = 40
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return "         " + strings.Join(lines, "\n         ")
}
