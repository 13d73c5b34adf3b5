package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/wherryhq/wherry/bench/versus/program"
)

// bound is the most messages that wait in a live queue, for every subject that lets it be set.
const bound = 10_000

// An opener opens a subject for one cell. A cell that it cannot run is a missing.
type opener func(ctx context.Context, b *bed) (*subject, error)

// A subject is a library that was opened for one cell.
type subject struct {
	settings []string
	// start starts the receivers. Each notes every message that it handles, and acknowledges it.
	start func(ctx context.Context) error
	// feed publishes all messages of the run, one call each.
	feed func(ctx context.Context) error
	// send publishes one message, for an offered load. It is nil where the subject has none.
	send func(ctx context.Context, id uint32) error
	// stop ends what was started, when nothing is left to handle, and waits for it.
	stop func() error
	// counted is how many messages were handled, of a subject whose messages have no number. It is nil for others.
	counted func() int64
}

// A missing is what a subject lacks for a cell.
type missing string

func (m missing) Error() string { return string(m) }

func lacks(format string, args ...any) error { return missing(fmt.Sprintf(format, args...)) }

// onlyLive is the error of a subject that takes part in nothing but live cells of bytes.
func onlyLive(o *program.Options, backlog string) error {
	switch {
	case o.Method == "drain":
		return missing(backlog)
	case o.Method != "live" || o.Flow != "parallel" || o.Codec != "bytesview" || o.Workers > 0:
		return lacks("%s takes part in live cells of the parallel flow with bytes as they are, without workers", o.Subject)
	case o.Payload < 8:
		return lacks("a body of %d bytes has no room for its number", o.Payload)
	default:
		return nil
	}
}

// number writes the number of a message into its body.
func number(body []byte, id uint32) { binary.LittleEndian.PutUint32(body, id) }

// numberOf reads what number wrote.
func numberOf(body []byte) uint32 { return binary.LittleEndian.Uint32(body) }

// numbered is a new body of size bytes.
func numbered(size int, id uint32) []byte {
	body := make([]byte, size)
	number(body, id)
	return body
}
