package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/codecs/fastjson"
)

// keyOf appends the key of a message of a sequence, whose messages have the keys in turn.
func keyOf(dst []byte, id uint32) []byte {
	return strconv.AppendUint(append(dst, "key-"...), uint64(id)%sequenceKeys, 10)
}

// views are bodies as they are, of that many bytes.
type views int

func (views) decoder() wherry.Codec[[]byte] { return codec.BytesView{} }

func (n views) raw(dst []byte, id uint32) ([]byte, error) {
	if cap(dst) < int(n) {
		dst = make([]byte, n)
	}
	dst = dst[:n]
	number(dst, id)
	return dst, nil
}

func (n views) value(v *[]byte, id uint32, _ int64) { *v, _ = n.raw(*v, id) }

func (n views) key(dst []byte, v *[]byte) []byte { return keyOf(dst, n.id(v)) }

func (views) id(v *[]byte) uint32 { return binary.LittleEndian.Uint32(*v) }

// A note is the body that every subject of a drain decodes. The handler owns it.
type note struct {
	ID          uint64 `json:"id"`
	PublishedAt int64  `json:"published_at"`
	Payload     string `json:"payload"`
}

// notes are JSON bodies with that payload.
type notes struct {
	codec   wherry.Codec[note]
	payload string
}

// notesOf are notes with so many bytes of payload. The codec may be nil where nothing is decoded by it.
func notesOf(c wherry.Codec[note], bytes int) notes { return notes{c, strings.Repeat("x", bytes)} }

func (n notes) decoder() wherry.Codec[note] { return n.codec }

func (n notes) raw(dst []byte, id uint32) ([]byte, error) {
	dst = append(dst, `{"id":`...)
	dst = strconv.AppendUint(dst, uint64(id), 10)
	dst = append(dst, `,"published_at":0,"payload":"`...)
	dst = append(dst, n.payload...)
	return append(dst, `"}`...), nil
}

func (n notes) value(v *note, id uint32, at int64) {
	*v = note{ID: uint64(id), PublishedAt: at, Payload: n.payload}
}

func (n notes) key(dst []byte, v *note) []byte { return keyOf(dst, n.id(v)) }

func (notes) id(v *note) uint32 { return uint32(v.ID) }

// An order is what the handler of the service gets of a body. The other fields are filler.
type order struct {
	ID       uint64 `json:"id"`
	Quantity uint32 `json:"quantity"`
}

// firstID is the id of the first body of the service, so that all have the same length.
const firstID = 1_000_000_000

// orders are JSON bodies of that size, with two fields that are wanted.
type orders struct {
	codec wherry.Codec[order]
	size  int
}

func (s orders) decoder() wherry.Codec[order] { return s.codec }

// raw uses dst again when it holds the body of another message.
func (s orders) raw(dst []byte, id uint32) ([]byte, error) {
	if whole := dst[:cap(dst)]; len(whole) >= s.size && strings.HasPrefix(string(whole[:len(idField)]), idField) {
		dst = whole[:s.size]
	} else {
		var err error
		if dst, err = orderBody(dst[:0], s.size); err != nil {
			return nil, err
		}
	}
	rest := firstID + uint64(id)
	for i := len(idField) + 9; i >= len(idField); i-- {
		dst[i] = '0' + byte(rest%10)
		rest /= 10
	}
	return dst, nil
}

func (orders) value(v *order, id uint32, _ int64) { v.ID, v.Quantity = firstID+uint64(id), 37 }

func (s orders) key(dst []byte, v *order) []byte { return keyOf(dst, s.id(v)) }

func (orders) id(v *order) uint32 { return uint32(v.ID - firstID) }

const (
	idField = `{"id":`
	digits  = "0000000000000000000000000000000000000000"
)

// orderBody is a body of exactly size bytes: an id of ten digits, a quantity, and filler fields of digits.
func orderBody(dst []byte, size int) ([]byte, error) {
	dst = append(dst, idField+strconv.Itoa(firstID)+`,"quantity":37`...)
	for field := 0; ; field++ {
		switch left := size - len(dst) - 1; {
		case left == 0:
			return append(dst, '}'), nil
		case left < 8:
			return nil, fmt.Errorf("a body of %d bytes cannot be filled", size)
		case field > 9:
			return nil, errors.New("a body has at most ten fields of filler")
		case left < 40:
			dst = fmt.Appendf(dst, `,"f%d":"%s"`, field, digits[:left-8])
		default:
			dst = fmt.Appendf(dst, `,"f%d":"%s"`, field, digits[:16])
		}
	}
}

// noteCodec and orderCodec are the codecs of JSON bodies, by the name that a cell has for them.
func noteCodec(name string) (wherry.Codec[note], error)   { return codecNamed[note](name) }
func orderCodec(name string) (wherry.Codec[order], error) { return codecNamed[order](name) }

func codecNamed[T any](name string) (wherry.Codec[T], error) {
	switch name {
	case "json":
		return codec.JSON[T]{}, nil
	case "fastjson":
		return fastjson.New[T](), nil
	default:
		return nil, lacks("the codec %s is not part of this program", name)
	}
}
