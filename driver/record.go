package driver

import (
	"math"
	"time"
)

// A Record goes out. The driver does not change it and keeps none of its bytes after Send.
type Record struct {
	ID          ID
	Key         []byte // nil is no key; an empty key is not distinguished from none
	Body        []byte
	Headers     []Header // user headers only, none of them reserved, in order; repeated keys are kept
	ContentType string
	Control     Control
	// Due is when the record becomes visible. Only SendAt of a [Holder] reads it.
	Due Stamp
	// Unique tells the broker's own de-duplication, where it has one, that this record is a copy which must not be
	// swallowed as a repetition of its ID.
	Unique bool
}

// Size is the number of bytes of body, key and headers, as limits count them.
func (r *Record) Size() int {
	return len(r.Body) + len(r.Key) + headerSize(r.Headers)
}

// A Header is one pair. Keys are not empty and hold no control characters; values are any text.
type Header struct {
	Key   string
	Value string
}

func headerSize(hs []Header) int {
	n := 0
	for i := range hs {
		n += len(hs[i].Key) + len(hs[i].Value)
	}
	return n
}

// A Stamp is a moment in nanoseconds since 1970 UTC. Zero is unknown. It is a number so that the path of a message
// neither copies a location nor keeps a pointer alive.
type Stamp int64

// StampOf returns t as a Stamp; the zero time is the zero Stamp.
func StampOf(t time.Time) Stamp {
	if t.IsZero() {
		return 0
	}
	return Stamp(t.UnixNano())
}

// Add returns the moment d later. A moment past what a Stamp can hold is the last one, some time in 2262.
func (s Stamp) Add(d time.Duration) Stamp {
	if d > 0 && s > math.MaxInt64-Stamp(d) {
		return math.MaxInt64
	}
	return s + Stamp(d)
}

// Time returns s as a time, the zero time for the zero Stamp.
func (s Stamp) Time() time.Time {
	if s == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(s))
}
