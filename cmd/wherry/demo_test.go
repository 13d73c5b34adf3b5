package main

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestDemo(t *testing.T) {
	t.Parallel()
	r := inBubble(t, nil, "demo", "--duration", "5s")
	r.want(t, 0, []string{
		"wherry demo: 200 orders a second for 5s.\n",
		"\n  1.0s published=20", "\n  4.0s published=80", "  ready\n",
		" payment   exhausted ", "the bank is busy", " stock     rejected ", `no "teapot" in the warehouse`,
	}, nil)
	a := r.accounts(t)
	if a.published != 1000 || a.lost != 0 || a.duplicated != 0 {
		t.Errorf("got %+v, want 1000 published, none lost and none duplicated", a)
	}
	if a.retried == 0 || a.dead == 0 || a.handled == 0 {
		t.Errorf("got %+v, want some retried, some dead and some handled", a)
	}
}

// TestDemoSame runs the demo twice. What it does depends on nothing but its flags.
func TestDemoSame(t *testing.T) {
	t.Parallel()
	first := inBubble(t, nil, "demo", "--duration", "3s", "--rate", "50")
	second := inBubble(t, nil, "demo", "--duration", "3s", "--rate", "50")
	if a, b := first.accounts(t), second.accounts(t); a != b || a.published != 150 {
		t.Errorf("got %+v and %+v", a, b)
	}
}

// TestDemoFullSpeed fills the queue, so that publishing waits for room.
func TestDemoFullSpeed(t *testing.T) {
	t.Parallel()
	r := inBubble(t, nil, "demo", "--duration", "50ms", "--rate", "0")
	r.want(t, 0, []string{"orders as fast as they are taken for 50ms"}, nil)
	if a := r.accounts(t); a.published < 10_000 || a.lost != 0 || a.duplicated != 0 {
		t.Errorf("got %+v, want more than fits the queue, none lost and none duplicated", a)
	}
}

func TestDemoDrop(t *testing.T) {
	t.Parallel()
	r := inBubble(t, nil, "demo", "--duration", "3s", "--fault", "drop")
	r.want(t, 1, []string{"with the fault drop", "\nlost: order-"}, nil)
	if a := r.accounts(t); a.published != 600 || a.lost != 1 || a.duplicated != 0 {
		t.Errorf("got %+v, want 600 published, one lost and none duplicated", a)
	}
}

func TestDemoDuplicate(t *testing.T) {
	t.Parallel()
	r := inBubble(t, nil, "demo", "--duration", "3s", "--fault", "duplicate")
	r.want(t, 0, []string{"with the fault duplicate", "\nduplicated: order-"}, nil)
	if a := r.accounts(t); a.published != 600 || a.lost != 0 || a.duplicated != 1 {
		t.Errorf("got %+v, want 600 published, none lost and one duplicated", a)
	}
}

// TestDemoShortest has one order, which the fault must still find.
func TestDemoShortest(t *testing.T) {
	t.Parallel()
	r := inBubble(t, nil, "demo", "--duration", "10ms", "--rate", "1", "--fault", "drop")
	r.want(t, 1, []string{"\nlost: order-1 in "}, nil)
	if a := r.accounts(t); a.published != 1 || a.lost != 1 {
		t.Errorf("got %+v, want the only one lost", a)
	}
}

func TestDemoStall(t *testing.T) {
	t.Parallel()
	r := inBubble(t, nil, "demo", "--duration", "12s", "--fault", "stall")
	r.want(t, 0, []string{
		"payment is not ready: work waits at the broker and none is delivered\n",
		"stock is not ready: ", "report is not ready: ", "not ready: payment,stock,report\n",
		"payment is ready again after ", "stock is ready again after ", "report is ready again after ",
		"\n 11.0s published=220", "  ready\n",
	}, nil)
	if a := r.accounts(t); a.published != 2400 || a.lost != 0 || a.duplicated != 0 {
		t.Errorf("got %+v, want 2400 published, none lost and none duplicated", a)
	}
}

// TestDemoStop ends the context in the middle of a run that would go on for ever.
func TestDemoStop(t *testing.T) {
	t.Parallel()
	var r result
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer stop()
		r = runCommand(ctx, nil, "demo", "--duration", "0", "--rate", "100")
	})
	r.want(t, 0, []string{"wherry demo: 100 orders a second.\n", "stopping: no more orders"}, nil)
	if a := r.accounts(t); a.published < 249 || a.published > 251 || a.lost != 0 {
		t.Errorf("got %+v, want about 250 published and none lost", a)
	}
}

// TestDemoStopInStall ends the context while nothing is delivered, which then ends too.
func TestDemoStopInStall(t *testing.T) {
	t.Parallel()
	var r result
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 8*time.Second)
		defer stop()
		r = runCommand(ctx, strings.NewReader(""), "demo", "--duration", "15s", "--fault", "stall")
	})
	r.want(t, 0, []string{"payment is not ready: ", "stopping: no more orders"}, nil)
	if a := r.accounts(t); a.published < 1599 || a.published > 1601 || a.lost != 0 {
		t.Errorf("got %+v, want about 1600 published and none lost", a)
	}
}
