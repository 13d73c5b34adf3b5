package main

import (
	"strings"
	"testing"
)

func TestRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-profile live hand":        "a profile is of one scenario: got 2 (live hand)",
		"-profile all":              "a profile is of one scenario: got 0 ()",
		"-gate live":                "-gate and -rewrite are about all scenarios: name none",
		"-rewrite -no-instructions": "-rewrite with -no-instructions",
		"-rewrite live":             "-gate and -rewrite are about all scenarios: name none",
		"-tree /nowhere liv":        `no scenario is called "liv"`,
		"-against nowhere live":     "open nowhere: ",
		"-n 5 -tree / live":         "5 messages are too few",
		"-baseline x -tree / -n":    "flag needs an argument: -n",
	} {
		if err := cost(t.Context(), strings.Fields(args)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", args, err, want)
		}
	}
}
