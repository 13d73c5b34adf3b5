package demo

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// grouped writes a number with commas between thousands.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// perSecond writes a rate.
func perSecond(r float64) string { return grouped(int(r+0.5)) + "/s" }

// short writes a duration in at most seven characters: "870 µs", "3.4 ms", "312 ms", "12.5 s", "3m20s".
func short(d time.Duration) string {
	switch {
	case d <= 0:
		return "-"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d.Microseconds())/1000, 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	default:
		return d.Round(time.Second).String()
	}
}

// clockTime writes a duration as a stopwatch does.
func clockTime(d time.Duration) string {
	s := int(d / time.Second)
	two := func(n int) string {
		if n < 10 {
			return "0" + strconv.Itoa(n)
		}
		return strconv.Itoa(n)
	}
	if s >= 3600 {
		return strconv.Itoa(s/3600) + ":" + two(s/60%60) + ":" + two(s%60)
	}
	return two(s/60) + ":" + two(s%60)
}

// clean takes away what would move the cursor or colour the screen: texts of errors may hold what came from outside.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '·'
		}
		return r
	}, s)
}

// right and left pad a text to a width in cells, and cut it where it is wider.
func right(s string, width int) string {
	return strings.Repeat(" ", max(width-ansi.StringWidth(s), 0)) + fit(s, width)
}

func left(s string, width int) string {
	return fit(s, width) + strings.Repeat(" ", max(width-ansi.StringWidth(s), 0))
}

// fit cuts a text to a width in cells.
func fit(s string, width int) string { return ansi.Truncate(s, max(width, 0), "…") }
