package gap

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// with returns a tracker whose runs are these.
func with(c Config, mark uint64, runs ...run) *Tracker {
	t := New(c, mark)
	for _, r := range runs {
		t.finished.add(r.from, r.end)
	}
	return t
}

// sealed returns a state with this text between version and check.
func sealed(commit uint64, text string) string {
	state := []byte(version + text)
	return string(appendCheck(state, New(Config{}, commit).check(state)))
}

func TestState(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		runs []run
		want string
	}{
		{"nothing above the mark", nil, ""},
		{"one", []run{{101, 102}}, "gap1AA-CeyHB"},
		{"far", []run{{140, 150}, {152, 1_000_152}}, "gap1nBJB_xweJbwWDA"},
		{"to the last", []run{{math.MaxUint64 - 1, math.MaxUint64}}, "gap158__________PANoqEwB"},
	} {
		got := string(with(Config{MaxState: 100}, 100, c.runs...).AppendState(nil))
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		back := New(Config{}, 100)
		if err := back.Restore(c.want, math.MaxUint64); err != nil || !slices.Equal(back.finished.runs(), c.runs) {
			t.Errorf("%s: came back as %v, %v", c.name, back.finished.runs(), err)
		}
	}
}

// Nothing that is not exactly what was written, for this log at this position, is believed. Nothing of it is kept either.
func TestRestoreRefusesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	cfg := Config{MaxState: 100, Log: "orders-0"}
	runs := []run{{102, 110}, {150, 151}, {200, 90_000}}
	good := string(with(cfg, 100, runs...).AppendState(nil))
	refused := map[string]string{
		"foreign":           "consumer-1@host",
		"json":              `{"offsets":[1,2]}`,
		"newer":             string(appendCheck([]byte("gap2AA"), New(cfg, 100).check([]byte("gap2AA")))),
		"another log":       string(with(Config{MaxState: 100, Log: "orders-1"}, 100, runs...).AppendState(nil)),
		"another position":  string(with(cfg, 101, runs...).AppendState(nil)),
		"version only":      "gap1",
		"something behind":  good + "A",
		"something between": good[:8] + "A" + good[8:],
	}
	for i := 1; i < len(good); i++ {
		refused["cut "+good[:i]] = good[:i]
	}
	for i := range good {
		for b := range 256 {
			if changed := good[:i] + string([]byte{byte(b)}) + good[i+1:]; changed != good {
				refused["changed "+changed] = changed
			}
		}
	}
	for name, state := range refused {
		back := New(cfg, 100)
		if err := back.Restore(state, math.MaxUint64); !errors.Is(err, ErrState) {
			t.Errorf("%s: %v", name, err)
		}
		if s := back.Status(); s != (Status{Commit: 100, Next: 100}) {
			t.Errorf("%s: left %+v", name, s)
		}
	}
	t.Logf("%d states refused", len(refused))

	back := New(cfg, 100)
	if err := back.Restore(good, math.MaxUint64); err != nil || !slices.Equal(back.finished.runs(), runs) {
		t.Errorf("its own came back as %v, %v", back.finished.runs(), err)
	}
	if err := back.Restore(good, math.MaxUint64); !errors.Is(err, ErrState) {
		t.Errorf("restored twice: %v", err)
	}
	late := New(cfg, 100)
	if _, err := late.Receive(100); err != nil {
		t.Error(err)
	}
	if err := late.Restore(good, math.MaxUint64); !errors.Is(err, ErrState) {
		t.Errorf("restored after the first position: %v", err)
	}
}

// A text with the right check can still be wrong. It is refused for what it says.
func TestRestoreRefusesNonsense(t *testing.T) {
	t.Parallel()
	largest := string(appendNumber(nil, math.MaxUint64))
	for name, c := range map[string]struct {
		commit uint64
		text   string
	}{
		"nothing":             {100, ""},
		"half a run":          {100, "A"},
		"no digit":            {100, "A!"},
		"number not ended":    {100, "Ag"},
		"number with zeros":   {100, "gAA"},
		"number too large":    {100, strings.Repeat("-", 12) + "_A"},
		"number too long":     {100, strings.Repeat("-", 13) + "AA"},
		"gap over the end":    {100, largest + "A"},
		"run over the end":    {100, "A" + largest},
		"above all positions": {math.MaxUint64, "AA"},
		"at the end":          {math.MaxUint64 - 1, "AA"},
		"second over the end": {math.MaxUint64 - 3, "AAAA"},
	} {
		back := New(Config{}, c.commit)
		if err := back.Restore(sealed(c.commit, c.text), math.MaxUint64); !errors.Is(err, ErrState) || back.Status().Runs > 0 {
			t.Errorf("%s: %v, %d runs", name, err, back.Status().Runs)
		}
	}
	if err := New(Config{}, math.MaxUint64-2).Restore(sealed(math.MaxUint64-2, "AA"), math.MaxUint64); err != nil {
		t.Errorf("the last position: %v", err)
	}
}

// What does not fit is cut at the far end, and a state never takes more than there is room for.
func TestStateIsCutAtTheFarEnd(t *testing.T) {
	t.Parallel()
	var runs []run
	for p := range uint64(40) {
		runs = append(runs, run{p*p*p + 2, p*p*p + 3})
	}
	whole := with(Config{MaxState: 1000}, 0, runs...)
	runs = slices.Clone(whole.finished.runs())
	n := 0
	for room := range 200 {
		state := string(with(Config{MaxState: room}, 0, runs...).AppendState(nil))
		back := New(Config{}, 0)
		if err := back.Restore(state, math.MaxUint64); err != nil {
			t.Fatal(err)
		}
		kept := back.finished.runs()
		if len(state) > room || len(kept) < n || !slices.Equal(kept, runs[:len(kept)]) {
			t.Errorf("%d runs in %d bytes of %d, after %d with a byte less", len(kept), len(state), room, n)
		}
		n = len(kept)
	}
	if n != len(runs) {
		t.Errorf("%d runs in 200 bytes, want all %d", n, len(runs))
	}
}

// FuzzRestore: whatever stands beside a commit is refused, or is a state that is written just so.
func FuzzRestore(f *testing.F) {
	f.Add("", uint64(0))
	f.Add("gap1AA-CeyHB", uint64(100))
	f.Add("AAAA", uint64(5))
	f.Add("nBJB_xweJ", uint64(math.MaxUint64-2000))
	f.Add("gap2", uint64(1))
	f.Fuzz(func(t *testing.T, text string, commit uint64) {
		for _, state := range []string{text, sealed(commit, text)} {
			tr := New(Config{MaxState: math.MaxInt}, commit)
			err := tr.Restore(state, math.MaxUint64)
			again := string(tr.AppendState(nil))
			switch {
			case err != nil && (!errors.Is(err, ErrState) || again != ""):
				t.Fatalf("%q: %v, and it became %q", state, err, again)
			case err == nil && again != state:
				t.Fatalf("%q became %q", state, again)
			}
			before := commit
			for _, r := range tr.finished.runs() {
				if r.from <= before || r.end <= r.from {
					t.Fatalf("%q at %d has the runs %v", state, commit, tr.finished.runs())
				}
				before = r.end
			}
		}
	})
}

// FuzzState: what is finished comes back, or as much of it as there is room for, the nearest first and nothing else.
func FuzzState(f *testing.F) {
	f.Add(uint64(0), []byte{1, 1}, uint16(100))
	f.Add(uint64(1)<<50, []byte{1, 200, 3, 0, 255, 255, 1, 1}, uint16(17))
	f.Add(uint64(math.MaxUint64), []byte{1, 1}, uint16(20))
	f.Fuzz(func(t *testing.T, commit uint64, lengths []byte, room uint16) {
		runs := lengthsToRuns(commit, lengths)
		tr := with(Config{MaxState: int(room)}, commit, runs...)
		runs = slices.Clone(tr.finished.runs())
		state := tr.AppendState(nil)
		for _, b := range state {
			if b <= ' ' || b > '~' {
				t.Fatalf("%q holds the byte %#x", state, b)
			}
		}
		back := New(Config{}, tr.Commit())
		if err := back.Restore(string(state), math.MaxUint64); err != nil {
			t.Fatalf("%q: %v", state, err)
		}
		kept := back.finished.runs()
		if len(state) > int(room) || len(kept) > len(runs) || !slices.Equal(kept, runs[:len(kept)]) {
			t.Fatalf("%v came back as %v in %d bytes of %d", runs, kept, len(state), room)
		}
		whole := tr.Status().State
		if fits := whole <= int(room); fits != (len(kept) == len(runs)) || fits && whole != len(state) {
			t.Fatalf("%d of %d runs in %d bytes of %d, the whole has %d", len(kept), len(runs), len(state), room, whole)
		}
	})
}

// lengthsToRuns makes runs above a mark of pairs of lengths, small ones and large ones.
func lengthsToRuns(mark uint64, lengths []byte) []run {
	var runs []run
	before := mark
	for i := 0; i+1 < len(lengths); i += 2 {
		r := run{from: before + 1 + stretched(lengths[i])}
		r.end = r.from + 1 + stretched(lengths[i+1])
		if r.from <= before || r.end <= r.from {
			break
		}
		runs = append(runs, r)
		before = r.end
	}
	return runs
}

// stretched makes of a byte any order of magnitude.
func stretched(b byte) uint64 { return uint64(b&7) << (b >> 3 * 2) }

// A state that says of the end of the log that it is finished does not switch the bounds off for all that is before.
func TestRestoredStateHasBounds(t *testing.T) {
	t.Parallel()
	const end = 1 << 40
	forged := sealed(0, string(appendNumber(appendNumber(nil, end-2), 0))) // the last position
	for name, c := range map[string]Config{"span": {MaxState: 100, MaxSpan: 50}, "state": {MaxState: 100}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := New(c, 0)
			if err := tr.Restore(forged, end); err != nil {
				t.Fatal(err)
			}
			p := uint64(0)
			for ; !tr.Paused() && p < 10_000; p++ {
				fresh, err := tr.Receive(p)
				if !fresh || err != nil {
					t.Fatalf("receive %d: %v, %v", p, fresh, err)
				}
				if p%2 == 1 && tr.Done(p) != nil {
					t.Fatalf("done %d", p)
				}
			}
			if !tr.Paused() {
				t.Fatal("it reads on without a bound")
			}
			for q := uint64(0); tr.Paused() && q < p; q += 2 {
				if err := tr.Done(q); err != nil {
					t.Fatal(err)
				}
			}
			if tr.Paused() {
				t.Error("what is in hand does not end the pause")
			}
		})
	}
}
