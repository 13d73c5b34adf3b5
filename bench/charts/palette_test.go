package charts

import (
	"math"
	"testing"
)

// TestContrast holds that everything can be told from the ground: text by 4.5 to 1, marks and lines by 3 to 1, as WCAG 2.2
// asks in 1.4.3 and 1.4.11. Labels of series are text.
func TestContrast(t *testing.T) {
	t.Parallel()
	for _, theme := range []*theme{&light, &dark} {
		texts := append([]paint{theme.ink, theme.quiet, theme.accent}, theme.series...)
		for i, p := range texts {
			if c := contrast(p, theme.ground); c < 4.5 {
				t.Errorf("%s: text %d has a contrast of %.1f, want at least 4.5", theme.name, i, c)
			}
		}
		for i, a := range theme.series {
			for j, b := range theme.series[:i] {
				if d := distance(a, b); d < 40 {
					t.Errorf("%s: series %d and %d are %.0f apart, want at least 40", theme.name, j, i, d)
				}
			}
		}
	}
}

// contrast is the ratio of relative luminances by WCAG 2.2.
func contrast(a, b paint) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(p paint) float64 {
	r, g, b, _ := p.RGBA()
	linear := func(v uint32) float64 {
		c := float64(v) / 0xffff
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(r) + 0.7152*linear(g) + 0.0722*linear(b)
}

// distance is how far two colours are apart, of at most 441.
func distance(a, b paint) float64 {
	ar, ag, ab, _ := a.RGBA()
	br, bg, bb, _ := b.RGBA()
	d := func(x, y uint32) float64 { return (float64(x) - float64(y)) / 257 }
	return math.Sqrt(d(ar, br)*d(ar, br) + d(ag, bg)*d(ag, bg) + d(ab, bb)*d(ab, bb))
}
