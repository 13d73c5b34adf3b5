package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
)

// A note is the value of cells with a codec of values.
type note struct {
	ID          uint64 `json:"id"`
	PublishedAt int64  `json:"published_at"`
	Payload     string `json:"payload"`
}

// A body is how the messages of a cell are made and known again.
type body[T any] struct {
	codec wherry.Codec[T]
	// filling makes the same bytes for less, and reads no more than the number, so that what is not measured takes little
	// time.
	filling wherry.Codec[T]
	fresh   func() T
	number  func(v *T, id uint32)
	id      func(v *T) uint32
	keys    int // how many there are in turn, 0 without
}

// with is the same with so many keys.
func (b body[T]) with(keys int) body[T] {
	b.keys = keys
	return b
}

// key appends the key of a value.
func (b body[T]) key(dst []byte, v *T) []byte {
	return strconv.AppendUint(append(dst, "key-"...), uint64(b.id(v))%uint64(b.keys), 10)
}

func notes(c wherry.Codec[note], payload int) body[note] {
	text := strings.Repeat("wherry", payload/6+1)[:payload]
	return body[note]{
		codec:   c,
		filling: filling{text},
		fresh:   func() note { return note{Payload: text} },
		number:  func(v *note, id uint32) { v.ID, v.PublishedAt = uint64(id), published },
		id:      func(v *note) uint32 { return uint32(v.ID) },
	}
}

// published stands for the time of publishing in every body: as long as one, and read by nobody.
const published = 1_790_000_000_000_000_000

func views(size int) body[[]byte] {
	return body[[]byte]{
		codec:   codec.BytesView{},
		filling: codec.BytesView{},
		fresh:   func() []byte { return make([]byte, size) },
		number:  func(v *[]byte, id uint32) { binary.LittleEndian.PutUint32(*v, id) },
		id:      func(v *[]byte) uint32 { return binary.LittleEndian.Uint32(*v) },
	}
}

// filling writes the JSON of notes whose payload is known to need no escapes, and reads their numbers.
type filling struct{ payload string }

func (f filling) Append(dst []byte, v *note) ([]byte, error) {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendUint(dst, v.ID, 10)
	dst = append(dst, `,"published_at":`...)
	dst = strconv.AppendInt(dst, v.PublishedAt, 10)
	dst = append(dst, `,"payload":"`...)
	dst = append(dst, f.payload...)
	return append(dst, `"}`...), nil
}

func (filling) Decode(src []byte, v *note) error {
	rest, ok := bytes.CutPrefix(src, []byte(`{"id":`))
	digits, _, more := bytes.Cut(rest, []byte{','})
	if !ok || !more {
		return errors.New("the body is not that of a note")
	}
	n, err := strconv.ParseUint(string(digits), 10, 32)
	v.ID = n
	return err
}

func (filling) ContentType() string { return codec.JSON[note]{}.ContentType() }
