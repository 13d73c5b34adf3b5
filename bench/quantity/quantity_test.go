package quantity

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestWriting(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{Number(0), "0"},
		{Number(0.00123), "0.00123"},
		{Number(0.5), "0.5"},
		{Number(0.99951), "1"},
		{Number(1.2345), "1.23"},
		{Number(12.345), "12.3"},
		{Number(99.96), "100"},
		{Number(-2.5), "−2.5"},
		{Number(1234567), "1,234,567"},
		{Whole(999.5), "1,000"},
		{Whole(-1234), "−1,234"},
		{Whole(-0.2), "0"},
		{Count(0, "row"), "0 rows"},
		{Count(1, "row"), "1 row"},
		{Count(1200, "row"), "1,200 rows"},
		{Rate(950), "950"},
		{Rate(12_345), "12.3 k"},
		{Rate(999_499), "999 k"},
		{Rate(999_500), "1 M"},
		{Rate(2_345_678), "2.35 M"},
		{Duration(18.2), "18.2 ns"},
		{Duration(999.6), "1 µs"},
		{Duration(1500), "1.5 µs"},
		{Duration(2_500_000), "2.5 ms"},
		{Duration(12e9), "12 s"},
		{Size(64), "64 B"},
		{Size(1 << 10), "1 KiB"},
		{Size(64 << 10), "64 KiB"},
		{Size(3 << 20), "3 MiB"},
		{Size(24 << 30), "24 GiB"},
		{Times(0.876), "0.876×"},
		{Span(1.234, 5.671, Times), "1.2× to 5.7×"},
		{Span(2, 2, Times), "2×"},
		{Span(0, 0.101, Times), "0× to 0.11×"},
		{Span(-131, -109, Whole), "−140 to −100"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestOutward holds that a rounded range contains what it is about, and is no wider than it must be.
func TestOutward(t *testing.T) {
	t.Parallel()
	source := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		v := math.Pow(10, 24*source.Float64()-12)
		if source.IntN(2) == 0 {
			v = -v
		}
		low, high := Down(v), Up(v)
		if low > v || high < v {
			t.Fatalf("%v is rounded to %v and %v, which do not contain it", v, low, high)
		}
		if (high-low)/math.Abs(v) > 0.1001 {
			t.Fatalf("%v is rounded to %v and %v, more than a tenth apart", v, low, high)
		}
	}
}
