package codecost

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// By these variables the test binary stands in for valgrind and for the program that is counted: what an instruction
// count grows by per message, what it begins with, and what is allocated.
const (
	fakeSlope  = "WHERRY_FAKE_SLOPE"
	fakeStart  = "WHERRY_FAKE_START"
	fakeBlocks = "WHERRY_FAKE_BLOCKS"
)

func TestMain(m *testing.M) {
	if os.Getenv(fakeSlope) != "" && len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-test.") {
		os.Exit(fake(os.Args[1:]))
	}
	m.Run()
}

// fake does what valgrind or the program does, with numbers of its own.
func fake(args []string) int {
	out := ""
	for len(args) > 0 && !strings.HasPrefix(args[0], "-scenario") {
		if name, ok := strings.CutPrefix(args[0], "--callgrind-out-file="); ok {
			out = name
		}
		args = args[1:]
	}
	flags := flag.NewFlagSet("fake", flag.ContinueOnError)
	n := flags.Int("n", 0, "")
	for _, ignored := range []string{"scenario", "codec", "consumers", "workers", "middleware", "times", "ready"} {
		flags.String(ignored, "", "")
	}
	flags.Bool("allocations", false, "")
	if err := flags.Parse(args); err != nil {
		return 1
	}
	if out == "" {
		fmt.Fprintf(os.Stdout, `{"blocks":%d,"bytes":%d}`, number(fakeBlocks)**n+200, 64*number(fakeBlocks)**n+9000)
		return 0
	}
	text := fmt.Sprintf("events: Ir\n\nsummary: %d\n", number(fakeStart)+number(fakeSlope)**n)
	if err := os.WriteFile(out, []byte(text), 0o600); err != nil {
		return 1
	}
	return 0
}

func number(variable string) int {
	n, _ := strconv.Atoi(os.Getenv(variable))
	return n
}

// fakeProgram is a program and a valgrind that count as told.
func fakeProgram(t *testing.T, slope, start, blocks int) *program {
	t.Helper()
	t.Setenv(fakeSlope, strconv.Itoa(slope))
	t.Setenv(fakeStart, strconv.Itoa(start))
	t.Setenv(fakeBlocks, strconv.Itoa(blocks))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &program{path: self, valgrind: self, dir: t.TempDir()}
}
