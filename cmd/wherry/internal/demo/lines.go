package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/wherryhq/wherry"
)

// maxLine is the most bytes of a line, and so of an order.
const maxLine = 1 << 20

// example is a line as the input wants it.
const example = `{"id":"A-1","country":"NO","item":"oar","quantity":2,"cents":9800}`

// An Input is orders from outside, one JSON value on each line. It is made by [NewInput] and read once.
type Input struct {
	name  string
	r     *bufio.Reader
	count atomic.Int64 // lines that were read
	empty atomic.Int64 // those with nothing on them
}

// An InputError is an input that cannot be read on. Its text says what to do about it.
type InputError struct {
	Name string // of the input
	Err  error
}

// Error begins with the input's name.
func (e *InputError) Error() string { return e.Name + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *InputError) Unwrap() error { return e.Err }

// NewInput looks at the beginning of r, for which it may wait, and refuses what cannot be JSON lines with an
// [*InputError]. name is for messages.
func NewInput(name string, r io.Reader) (*Input, error) {
	in := &Input{name: name, r: bufio.NewReader(r)}
	_, err := in.r.Peek(1)
	if errors.Is(err, io.EOF) {
		return nil, in.fail(errors.New("it is empty; give it one order on each line, such as " + example))
	}
	if err != nil {
		return nil, in.fail(err)
	}
	begin, _ := in.r.Peek(in.r.Buffered())
	if bytes.IndexByte(begin, 0) >= 0 {
		return nil, in.fail(errors.New("it is binary data; give it text with one order on each line, such as " + example))
	}
	return in, nil
}

func (in *Input) fail(err error) error { return &InputError{Name: in.name, Err: err} }

// next returns the next line that is not empty.
func (in *Input) next() inputLine {
	for {
		line, err := in.read()
		if err != nil {
			return inputLine{err: err}
		}
		number := in.count.Add(1)
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return inputLine{text: bytes.Clone(line), number: int(number)}
		}
		in.empty.Add(1)
	}
}

// read returns the next line, which is valid until the next call.
func (in *Input) read() ([]byte, error) {
	line, err := in.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = in.readLong(line)
	}
	switch {
	case len(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))) > maxLine:
		return nil, in.fail(fmt.Errorf("line %d is longer than %d bytes; give each order a line of its own", in.count.Load()+1, maxLine))
	case err == nil, errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	case errors.Is(err, io.EOF):
		return nil, io.EOF
	default:
		return nil, in.fail(fmt.Errorf("line %d: %w", in.count.Load()+1, err))
	}
}

// readLong reads on from a begin that filled the buffer, to the end of the line or past the most that a line may have.
func (in *Input) readLong(begin []byte) ([]byte, error) {
	line := bytes.Clone(begin)
	for {
		more, err := in.r.ReadSlice('\n')
		line = append(line, more...)
		if !errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine+len("\r\n") {
			return line, err
		}
	}
}

// An inputLine is a line with its number, or the error that ends the input: io.EOF, or an [*InputError].
type inputLine struct {
	text   []byte
	number int
	err    error
}

// lines reads the input beside the publisher, since waiting for standard input cannot be cancelled: a reader that waits
// when ctx ends goes on waiting until the input or the process ends.
func (in *Input) lines(ctx context.Context) <-chan inputLine {
	lines := make(chan inputLine)
	go func() {
		for {
			l := in.next()
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
			if l.err != nil {
				return
			}
		}
	}()
	return lines
}

// lineCodec carries a line as it is, so that what does not decode reaches the dead letters byte for byte. Nobody decodes
// with it: consumers have the orders' own codec.
type lineCodec struct{}

// Append appends *v to dst.
func (lineCodec) Append(dst []byte, v *[]byte) ([]byte, error) { return append(dst, *v...), nil }

// Decode sets *v to a copy of src.
func (lineCodec) Decode(src []byte, v *[]byte) error {
	*v = bytes.Clone(src)
	return nil
}

// ContentType returns "application/json", which the lines claim to be.
func (lineCodec) ContentType() string { return "application/json" }

// linesTopic is the topic of orders for lines that may or may not be orders.
func linesTopic() wherry.Topic[[]byte] {
	return wherry.NewTopic(topicName, lineCodec{}, topicOptions()...)
}
