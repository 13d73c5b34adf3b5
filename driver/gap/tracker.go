package gap

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
)

var (
	// ErrOrder is a position that was received where a log cannot have it: not above the one before it, or the largest
	// that a uint64 has.
	ErrOrder = errors.New("out of order")
	// ErrNotInHand is an answer for a position that nobody has in hand: it was never received, or it was released and not
	// taken again. A driver answers its settlement with driver.ErrRevoked.
	ErrNotInHand = errors.New("not in hand")
)

const (
	// maxPosition leaves the position above it for the commit.
	maxPosition = math.MaxUint64 - 1

	// defaultSpan is a long stall at full speed, and some seconds of reading after a restart.
	defaultSpan = 1 << 22
	// sizeWithoutRoom bounds the memory of a tracker whose broker keeps no state: about half a megabyte.
	sizeWithoutRoom = 1 << 16
)

// Config says what a tracker may use. Its zero value is a broker that keeps no state.
type Config struct {
	// MaxState is how many bytes the broker takes beside a commit, which is all that [Tracker.AppendState] ever appends.
	// Intake pauses at three quarters of it: what is in hand then may still add to it. With 0 or less the broker keeps no
	// state, and intake pauses as if it had 64 KiB.
	MaxState int
	// MaxSpan is how far the next position may be above the commit position before intake pauses; 0 is 4,194,304. After a
	// restart so many are read again at most, and so many handled again where the broker keeps no state.
	MaxSpan uint64
	// Log names what positions belong to, such as the id of the topic with the number of the partition. A state that was
	// written under another name is not used, so that a log which was made anew under an old name loses nothing. It takes
	// no room in the state. It may be empty.
	Log string
}

// A Tracker knows what of one partition is received, in hand and finished, for one tenure: it is made when a partition is
// assigned, and dropped with all that it knows when the assignment ends. The zero Tracker is that of [New] with a zero Config
// and the position 0.
//
// It is not safe for concurrent use: a driver holds one lock over all calls that concern a partition. No method blocks, keeps
// what it is given, or allocates once the tracker has grown to its window.
type Tracker struct {
	finished finished
	next     uint64   // above all that was received
	read     uint64   // the lowest that may be received now: next, or less after a Rewind
	open     int      // received and not finished: in hand or released
	released []uint64 // sorted
	full     bool

	room int // of a state
	// The window is full at high or far, and has room again at low and near.
	high, low int
	far, near uint64
	name      uint32 // the checksum of the log's name
}

// New returns a tracker for a partition that was committed up to, but not including, the position: the first to read.
func New(c Config, commit uint64) *Tracker {
	t := &Tracker{
		finished: finished{mark: commit},
		next:     commit,
		read:     commit,
		room:     max(c.MaxState, 0),
		name:     crc32.Checksum([]byte(c.Log), castagnoli),
	}
	t.bound(c)
	return t
}

// bound sets when the window is full, and when it has room again.
func (t *Tracker) bound(c Config) {
	size, span := c.MaxState, c.MaxSpan
	if size <= 0 {
		size = sizeWithoutRoom
	}
	if span == 0 {
		span = defaultSpan
	}
	t.high, t.low = max(size-size/4, 1), size/2
	t.far, t.near = span, span/2
}

// Receive notes that the log brought a position, and reports whether it is to be delivered. It is not if it is finished, as a
// restored state or this tracker knows, or in hand; the driver drops it then.
//
// Positions come in ascending order. One that was passed over is not in the log, and counts as finished: compaction took it, or
// it is a mark of a transaction. So each record that the log brings is given to Receive, also one that the driver cannot read.
// An error matches [ErrOrder], and the position is not noted. It says that driver and tracker disagree about the log, so a
// driver that gets one reads the partition again from its commit position, with a new tracker.
//
// A position is taken even if [Tracker.Paused]: what a client had fetched already does no harm.
func (t *Tracker) Receive(p uint64) (bool, error) {
	if p < t.read || p > maxPosition {
		return false, fmt.Errorf("gap: receive %d: %w: the next is %d or above", p, ErrOrder, t.read)
	}
	from := t.read
	t.read = p + 1
	if from < t.next && len(t.released) > 0 {
		t.passOver(from, p)
	}
	if p < t.next {
		return t.takeReleased(p), nil
	}
	t.finished.add(t.next, p)
	t.next = p + 1
	fresh := !t.finished.has(p)
	if fresh {
		t.open++
	}
	t.regulate()
	return fresh, nil
}

// Done notes that a position in hand is finished. To finish it again changes nothing, and so it is with all below the commit
// position. An error matches [ErrNotInHand], and changes nothing either.
func (t *Tracker) Done(p uint64) error {
	if p >= t.next {
		return fmt.Errorf("gap: done %d: %w: it was not received, the next is %d", p, ErrNotInHand, t.next)
	}
	if t.finished.has(p) {
		return nil
	}
	if len(t.released) > 0 && t.isReleased(p) {
		return fmt.Errorf("gap: done %d: %w: it was released", p, ErrNotInHand)
	}
	t.finished.add(p, p+1)
	t.open--
	t.regulate()
	return nil
}

// Release notes that a position in hand was given back. It stays unfinished until [Tracker.Redeliver] takes it, or Receive
// after a [Tracker.Rewind], and is done. An error matches [ErrNotInHand], and changes nothing.
func (t *Tracker) Release(p uint64) error {
	if p >= t.next || t.finished.has(p) {
		return fmt.Errorf("gap: release %d: %w: it was not received, or it is finished", p, ErrNotInHand)
	}
	i, found := slices.BinarySearch(t.released, p)
	if found {
		return fmt.Errorf("gap: release %d: %w: it was released", p, ErrNotInHand)
	}
	t.released = slices.Insert(t.released, i, p)
	return nil
}

// Redeliver takes the lowest released position in hand again, for the driver to deliver from memory. It reports false when
// there is none. A paused intake does not concern it: what the window waits for may be among them.
func (t *Tracker) Redeliver() (uint64, bool) {
	if len(t.released) == 0 {
		return 0, false
	}
	p := t.released[0]
	t.released = slices.Delete(t.released, 0, 1)
	return p, true
}

// Rewind notes that the log is read again from a position, as after a lost connection or an aborted transaction. Receive then
// reports true for those that are released, which a driver need not keep in memory if it rewinds for them.
//
// A released one that is passed over then is not in the log any more, and counts as finished: Redeliver does not name it.
func (t *Tracker) Rewind(p uint64) { t.read = min(p, t.next) }

// Commit is the position to commit: the lowest that is not finished, or the one above all that was received. It never goes
// back. Read [Tracker.AppendState] with it.
func (t *Tracker) Commit() uint64 { return t.finished.mark }

// Next is the lowest position that was neither received nor finished. A driver may read on from there instead of reading what
// a restored state says is finished.
func (t *Tracker) Next() uint64 {
	next := max(t.next, t.finished.mark)
	for _, r := range t.finished.runs() {
		if r.from <= next && next < r.end {
			return r.end
		}
	}
	return next
}

// Paused reports whether nothing more is to be fetched, since the state or the span is at its bound behind the commit position.
// It pauses at the bounds of [Config] and ends at half of them, so that a window which is nearly full does not start and stop
// the client for each message. It is never true while all that was received is finished, nor while what was received before a
// restart or a Rewind comes again: nothing else could end the pause. What a restored state is about is read on up to twice the
// bounds, which is more than a state of this program needs.
func (t *Tracker) Paused() bool {
	return t.full && t.read >= t.next && (t.next >= t.finished.end() || t.excessive())
}

// excessive reports whether the window is so far over its bounds that a restored state is no reason to read on. Something is in
// hand or released then, which ends it.
func (t *Tracker) excessive() bool {
	span := t.span()
	return span > 0 && (span/2 >= t.far || t.stateSize()/2 >= t.high)
}

// Waiting says what a paused intake waits for, as a driver.Waiter does, and is empty when it is not paused.
func (t *Tracker) Waiting() string {
	if !t.Paused() {
		return ""
	}
	if t.isReleased(t.finished.mark) {
		return fmt.Sprintf("log window full behind position %d, which was released", t.finished.mark)
	}
	return fmt.Sprintf("log window full behind position %d", t.finished.mark)
}

// regulate fills and empties the window, with a distance between the two.
func (t *Tracker) regulate() {
	if t.far == 0 {
		t.bound(Config{})
	}
	size, span := t.stateSize(), t.span()
	switch {
	case size >= t.high || span >= t.far:
		t.full = true
	case size <= t.low && span <= t.near:
		t.full = false
	}
}

// stateSize is the size of the state if there were room for all of it.
func (t *Tracker) stateSize() int {
	if t.finished.width == 0 {
		return 0
	}
	return t.finished.width + overhead
}

func (t *Tracker) span() uint64 { return max(t.next, t.finished.mark) - t.finished.mark }

func (t *Tracker) isReleased(p uint64) bool {
	_, found := slices.BinarySearch(t.released, p)
	return found
}

// passOver finishes what is released from a position up to another, which the log did not bring again.
func (t *Tracker) passOver(from, end uint64) {
	i, _ := slices.BinarySearch(t.released, from)
	j, _ := slices.BinarySearch(t.released, end)
	if i == j {
		return
	}
	for _, p := range t.released[i:j] {
		t.finished.add(p, p+1)
		t.open--
	}
	t.released = slices.Delete(t.released, i, j)
	t.regulate()
}

// takeReleased takes a position in hand if it was released.
func (t *Tracker) takeReleased(p uint64) bool {
	i, found := slices.BinarySearch(t.released, p)
	if found {
		t.released = slices.Delete(t.released, i, i+1)
	}
	return found
}
