package codecost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"slices"

	"github.com/wherryhq/wherry/bench/document"
)

// A Ceiling is what each scenario may allocate, and what it was seen to take.
type Ceiling map[string]Limit

// A Limit is of one scenario, per message.
type Limit struct {
	// Allocations and Bytes are the most that it may allocate.
	Allocations float64 `json:"allocations"`
	Bytes       float64 `json:"bytes"`
	// Instructions and Spread are for information: the median, and half the range over the median.
	Instructions float64 `json:"instructions"`
	Spread       float64 `json:"spread"`
}

// The slack of a ceiling: a thousandth of what was seen, and where that is next to nothing, of one block and of a body. A
// scenario whose runs differ, because it depends on time, has the range of what was seen on top.
const (
	slack       = 0.001
	leastBlocks = 1
	leastBytes  = 1000
)

// CeilingFile is where the committed ceiling is in the source tree.
const CeilingFile = "bench/codecost/ceiling.json"

// NewCeiling is the ceiling that rows make: the most seen and the slack.
func NewCeiling(rows []document.Row) Ceiling {
	c := make(Ceiling, len(rows))
	for _, r := range derived(rows) {
		if r.Code == nil {
			continue
		}
		c[r.Flow] = Limit{
			Allocations:  limit(r.Code.Runs, leastBlocks, func(r document.CodeRun) int64 { return r.Blocks2N - r.BlocksN }),
			Bytes:        limit(r.Code.Runs, leastBytes, func(r document.CodeRun) int64 { return r.Bytes2N - r.BytesN }),
			Instructions: r.Code.Instructions,
			Spread:       r.Code.Spread,
		}
	}
	return c
}

// limit is the most per message that runs allocated, their range on top, and the slack.
func limit(runs []document.CodeRun, least float64, grown func(document.CodeRun) int64) float64 {
	slopes := make([]float64, 0, len(runs))
	for _, r := range runs {
		slopes = append(slopes, float64(grown(r))/float64(r.N))
	}
	most := slices.Max(slopes)
	most += most - slices.Min(slopes) + slack*max(most, least)
	const places = 1e4
	return math.Ceil(most*places) / places
}

// ReadCeiling reads a ceiling. A file that is not there, has a field that is unknown, or no scenario is an error.
func ReadCeiling(name string) (Ceiling, error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no ceiling at %s: run it at the root of the source tree, or write one by \"make ceiling\"", name)
	}
	if err != nil {
		return nil, err
	}
	var c Ceiling
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(c) == 0 {
		return nil, fmt.Errorf("%s has no scenario", name)
	}
	return c, nil
}

// Write writes the ceiling to a file, in the order of the scenarios' names.
func (c Ceiling) Write(name string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(name, append(text, '\n'), 0o644) //nolint:gosec // It is committed, for everybody to read.
}

// Check compares rows with the ceiling and returns what is above it, a scenario that has no row or no limit, and one that
// was not counted, each in words. Rows that cannot be counted yet are left out.
func (c Ceiling) Check(rows []document.Row) []string {
	var wrong []string
	counted := make(map[string]bool, len(rows))
	for _, r := range derived(rows) {
		counted[r.Flow] = true
		limit, ok := c[r.Flow]
		switch {
		case r.NotShown != nil && r.NotShown.Code == document.Unsupported:
		case r.Code == nil:
			wrong = append(wrong, r.Flow+": not counted: "+r.NotShown.Text)
		case !ok:
			wrong = append(wrong, r.Flow+": has no ceiling: write it by \"make ceiling\" and commit it")
		default:
			wrong = append(wrong, limit.exceeded(r)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if !counted[name] {
			wrong = append(wrong, name+": has a ceiling and was not counted")
		}
	}
	return wrong
}

func (l Limit) exceeded(r document.Row) []string {
	var wrong []string
	if r.Code.Allocations > l.Allocations {
		wrong = append(wrong, fmt.Sprintf("%s: %.4f allocations per message, the ceiling is %.4f", r.Flow, r.Code.Allocations, l.Allocations))
	}
	if r.Code.Bytes > l.Bytes {
		wrong = append(wrong, fmt.Sprintf("%s: %.2f bytes allocated per message, the ceiling is %.2f", r.Flow, r.Code.Bytes, l.Bytes))
	}
	return wrong
}

// derived are rows with their derived fields.
func derived(rows []document.Row) []document.Row {
	p := document.Part{Rows: slices.Clone(rows)}
	p.Derive()
	return p.Rows
}
