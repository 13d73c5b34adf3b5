package demo

import (
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

func TestShort(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                              "-",
		870 * time.Microsecond:         "870 µs",
		3_449 * time.Microsecond:       "3.4 ms",
		312 * time.Millisecond:         "312 ms",
		12_540 * time.Millisecond:      "12.5 s",
		3*time.Minute + 20*time.Second: "3m20s",
	} {
		if got := short(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestClockTime(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                                     "00:00",
		75*time.Second + 900*time.Millisecond: "01:15",
		3*time.Hour + 61*time.Second:          "3:01:01",
	} {
		if got := clockTime(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -4321: "-4,321"} {
		if got := grouped(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	if got, want := clean("red \x1b[31m and\nnext\x07 line é"), "red ·[31m and·next· line é"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPadding(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "short", "exactly 10", "longer than that", "wide ｗｉｄｅ"} {
		for side, pad := range map[string]func(string, int) string{"left": left, "right": right} {
			if got := pad(s, 10); ansi.StringWidth(got) != 10 {
				t.Errorf("%s(%q) is %q, %d cells wide", side, s, got, ansi.StringWidth(got))
			}
		}
	}
}
