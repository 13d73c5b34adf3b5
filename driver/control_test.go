package driver_test

import (
	"errors"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/internal/assert"
)

// full is control data with every field set.
func full() driver.Control {
	return driver.Control{
		Attempt: 3, Published: 1_700_000_000_123_456_789, Defers: 2, Deferred: 90 * time.Minute,
		Hold: &driver.HoldData{Topic: "a.b", Group: "g", Fanout: true, Due: 5, Hop: 4},
		Failure: &driver.Failure{
			Topic: "a.b", Group: "g", Reason: "exhausted", First: "fi;rst=1&%", Last: "läst\n\x00", FirstAt: 1, LastAt: 2,
			Attempts: 5, Delivered: 7, Redrives: "MARK.OTHER",
		},
	}
}

func TestControlRoundTrip(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]driver.Control{
		"zero": {}, "attempt": {Attempt: 1}, "full": full(),
		"failure without a text": {Failure: &driver.Failure{}},
		"hold without a time":    {Hold: &driver.HoldData{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := c.Append([]byte("before"))
			assert.Equal(t, string(text[:6]), "before")
			got, err := driver.ParseControl(string(text[6:]))
			assert.NoError(t, err)
			assert.True(t, reflect.DeepEqual(got, c), string(text))
		})
	}
	zero := driver.Control{}
	assert.Equal(t, len(zero.Append(nil)), 0)
}

// What Append writes is parsed, whatever a clock or a count has come to: a number out of bounds does not cost the others.
func TestControlOutOfBounds(t *testing.T) {
	t.Parallel()
	c := driver.Control{
		Attempt: 3, Published: -1, Defers: -2, Deferred: -time.Second, Hold: &driver.HoldData{Due: -1, Hop: -1, Topic: "t"},
		Failure: &driver.Failure{FirstAt: -1, LastAt: -1, Attempts: math.MaxInt, Delivered: -1},
	}
	got, err := driver.ParseControl(string(c.Append(nil)))
	if err != nil {
		t.Fatal(err)
	}
	want := driver.Control{
		Attempt: 3, Hold: &driver.HoldData{Topic: "t"}, Failure: &driver.Failure{Attempts: math.MaxInt32},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestControlRefusesRubbish(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"2;a=1", "a=1", "1;a", "1;a=x", "1;a=-1", "1;a=99999999999", "1;p=-5", "1;ft=%zz", "1;hd=1;ht=%", "\x00", "1;;",
	} {
		c, err := driver.ParseControl(bad)
		assert.True(t, err != nil, "refused: "+bad)
		assert.True(t, reflect.DeepEqual(c, driver.Control{}), "and nothing of it is kept: "+bad)
	}
	c, err := driver.ParseControl("1;a=2;later=thing") // a newer program's
	assert.NoError(t, err)
	assert.Equal(t, c.Attempt, 2)
}

// FuzzParseControl: whatever a header says is refused or is data that encodes to itself.
func FuzzParseControl(f *testing.F) {
	c := full()
	f.Add(string(c.Append(nil)))
	for _, s := range []string{"", "1", "1;a=5", "1;f=1", "1;hf=1", "1;a=1;a=2", "1;fr=%41;x=y", "9;a=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := driver.ParseControl(s)
		if err != nil {
			return
		}
		if c.Attempt < 0 || c.Defers < 0 || c.Deferred < 0 || c.Published < 0 {
			t.Fatalf("%q gives %+v", s, c)
		}
		again, err := driver.ParseControl(string(c.Append(nil)))
		if err != nil || !reflect.DeepEqual(again, c) {
			t.Fatalf("%q gives %+v, and that %+v, %v", s, c, again, err)
		}
	})
}

// FuzzFailureText: any text of an error survives the journey in a header without a character that ends one.
func FuzzFailureText(f *testing.F) {
	f.Add("plain", "läst\r\n;=%00")
	f.Fuzz(func(t *testing.T, first, last string) {
		c := driver.Control{Failure: &driver.Failure{First: first, Last: last}}
		text := c.Append(nil)
		for _, b := range text {
			if b < ' ' || b > '~' {
				t.Fatalf("%q holds the byte %#x", text, b)
			}
		}
		got, err := driver.ParseControl(string(text))
		if err != nil || got.Failure.First != first || got.Failure.Last != last {
			t.Fatalf("%q, %q came back as %+v, %v", first, last, got.Failure, err)
		}
	})
}

func TestStamps(t *testing.T) {
	t.Parallel()
	assert.Equal(t, driver.StampOf(time.Time{}), 0)
	assert.True(t, driver.Stamp(0).Time().IsZero(), "unknown stays unknown")
	now := time.Now()
	assert.True(t, driver.StampOf(now).Time().Equal(now), "a stamp is exact")
	assert.Equal(t, driver.Stamp(5).Add(3), 8)
	assert.Equal(t, driver.StampOf(now).Add(math.MaxInt64), math.MaxInt64)
	assert.Equal(t, driver.Stamp(5).Add(-7), -2)
}

func TestIDs(t *testing.T) {
	t.Parallel()
	assert.True(t, driver.ID{}.IsZero() && (driver.ID{}).String() == "", "no id")
	assert.Equal(t, driver.ID{Text: "mine", Seq: 4}.String(), "mine")
	assert.Equal(t, driver.ID{Prefix: 0xabc, Seq: 12}.String(), "0000000000000abc-12")
	assert.Equal(t, string(driver.ID{Seq: 1}.Append([]byte("x"))), "x0000000000000000-1")
}

func TestBatchError(t *testing.T) {
	t.Parallel()
	err := &driver.BatchError{Errs: []error{nil, driver.ErrNotSent, nil, driver.ErrFull, driver.ErrClosed, driver.ErrRevoked}}
	assert.Equal(t, err.Error(), "4 of 6 failed; 1: not sent; 3: full; 4: closed; …")
	assert.ErrorIs(t, err, driver.ErrRevoked)
	assert.NoError(t, driver.EntryError(err, 0))
	assert.ErrorIs(t, driver.EntryError(err, 3), driver.ErrFull)
	other := errors.New("for all")
	assert.ErrorIs(t, driver.EntryError(other, 17), other)
	assert.NoError(t, driver.EntryError(nil, 0))
}

func TestSizes(t *testing.T) {
	t.Parallel()
	r := driver.Record{Key: []byte("k"), Body: []byte("body"), Headers: []driver.Header{{Key: "ab", Value: "c"}, {Key: "d"}}}
	assert.Equal(t, r.Size(), 9)
	d := driver.Delivery{Key: r.Key, Body: r.Body, Headers: r.Headers}
	assert.Equal(t, d.Size(), 9)
	assert.Equal(t, d.HeaderSize(), 4)
}
