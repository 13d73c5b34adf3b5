package gap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"
	"strings"
)

// ErrState is a state that does not belong to this tracker: of another program or a newer version, of another log or commit
// position, or damaged. Nothing of it is used.
var ErrState = errors.New("no state of this log at this position")

// A state is the version, the runs and the check, all of them printable:
//
//	gap1 AA -CeyHB
//
// Each run is two numbers: how many positions lie between it and what is before it, the mark or another run, and how many it
// has. Both are at least one, and one less is written. A number is written in digits of base 64, the lowest first; five bits
// of a digit count and the sixth tells that another one follows. The check is a checksum of the log's name, of all before it,
// and of the commit position. A tracker without runs has the empty state.
const (
	version     = "gap1"
	checkDigits = 6
	overhead    = len(version) + checkDigits

	digits    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	digitBits = 5
	more      = 1 << digitBits
)

// castagnoli finds every change of a single byte and of up to four bytes in a row.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendState appends the finished positions above the commit position to dst, in at most as many bytes as [Config.MaxState]
// says, and returns the extended slice. It is to be committed together with [Tracker.Commit], and both are to be read in one
// go: it is of no use with another position. Where all is finished, and where the broker has no room, nothing is appended.
//
// What does not fit is left out from the far end. It is handled again after a restart.
func (t *Tracker) AppendState(dst []byte) []byte {
	start := len(dst)
	room := t.room - overhead
	before := t.finished.mark
	for _, r := range t.finished.runs() {
		if room -= r.width(before); room < 0 {
			break
		}
		if len(dst) == start {
			dst = append(dst, version...)
		}
		dst = appendNumber(dst, r.from-before-1)
		dst = appendNumber(dst, r.end-r.from-1)
		before = r.end
	}
	if len(dst) == start {
		return dst
	}
	return appendCheck(dst, t.check(dst[start:]))
}

// Restore takes over what [Tracker.AppendState] wrote, as it was committed with the position that the tracker was made with,
// before anything is received. The empty state is that nothing above the commit position was finished. The end is the position
// above the last record of the log, as the broker says it now: a state that knows of more is of a log that lost its end since, and
// what will stand there is not what was finished. Where the broker does not say, it is [math.MaxUint64].
//
// An error matches [ErrState] and is for a log: the tracker is as it was before and right to use. All from the commit position
// on is handled again, which repeats what was finished there and loses nothing.
func (t *Tracker) Restore(state string, end uint64) error {
	if state == "" {
		return nil
	}
	if t.next != t.finished.mark || len(t.finished.runs()) > 0 {
		return fmt.Errorf("gap: restore: %w: it is too late, something was received or restored", ErrState)
	}
	text, ok := strings.CutPrefix(state, version)
	if !ok {
		return fmt.Errorf("gap: restore: %w: it does not begin with %s", ErrState, version)
	}
	if len(text) < checkDigits {
		return fmt.Errorf("gap: restore: %w: it is cut off, and has no check", ErrState)
	}
	checked := len(state) - checkDigits
	if check := appendCheck(nil, t.check([]byte(state[:checked]))); string(check) != state[checked:] {
		return fmt.Errorf("gap: restore: %w: the checksum is of another log or position, or it is damaged", ErrState)
	}
	runs, err := parseRuns(text[:len(text)-checkDigits], t.finished.mark)
	if err != nil {
		return err
	}
	if last := runs[len(runs)-1].end; last > end {
		return fmt.Errorf("gap: restore: %w: it knows of positions up to %d, and the log ends at %d", ErrState, last-1, end)
	}
	for _, r := range runs {
		t.finished.add(r.from, r.end)
	}
	return nil
}

// check is the checksum of a state without it. What is above the text in its memory is written over.
func (t *Tracker) check(text []byte) uint32 {
	return crc32.Update(t.name, castagnoli, binary.BigEndian.AppendUint64(text, t.finished.mark))
}

// parseRuns reads runs above a mark.
func parseRuns(text string, mark uint64) ([]run, error) {
	if text == "" {
		return nil, fmt.Errorf("gap: restore: %w: it has no runs", ErrState)
	}
	var runs []run
	before := mark
	for text != "" {
		gap, afterGap, ok := cutNumber(text)
		if !ok {
			return nil, fmt.Errorf("gap: restore: %w: no number at %.20q", ErrState, text)
		}
		size, rest, ok := cutNumber(afterGap)
		if !ok {
			return nil, fmt.Errorf("gap: restore: %w: no number at %.20q", ErrState, afterGap)
		}
		// What is left above the run before has to hold the gap, the run, and the one of each that is not written.
		left := math.MaxUint64 - before
		if left < 2 || gap > left-2 || size > left-2-gap {
			return nil, fmt.Errorf("gap: restore: %w: a run ends above all positions", ErrState)
		}
		r := run{from: before + gap + 1}
		r.end = r.from + size + 1
		runs = append(runs, r)
		before, text = r.end, rest
	}
	return runs, nil
}

// width is what the run takes in a state, where before is the position above what is finished before it.
func (r run) width(before uint64) int {
	return widthOf(r.from-before-1) + widthOf(r.end-r.from-1)
}

func widthOf(n uint64) int { return (bits.Len64(n|1) + digitBits - 1) / digitBits }

func appendNumber(dst []byte, n uint64) []byte {
	for n >= more {
		dst = append(dst, digits[n%more|more])
		n >>= digitBits
	}
	return append(dst, digits[n])
}

// cutNumber reads what appendNumber wrote, and nothing else: a number has one way to be written.
func cutNumber(text string) (n uint64, rest string, ok bool) {
	for i := range len(text) {
		d := strings.IndexByte(digits, text[i])
		shift := i * digitBits
		if d < 0 || shift >= 64 || bits.Len(uint(d%more)) > 64-shift {
			return 0, "", false
		}
		n |= uint64(d%more) << shift
		if d < more {
			return n, text[i+1:], d > 0 || i == 0
		}
	}
	return 0, "", false
}

func appendCheck(dst []byte, sum uint32) []byte {
	for range checkDigits {
		dst = append(dst, digits[sum%64])
		sum /= 64
	}
	return dst
}
