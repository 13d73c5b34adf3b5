package driver

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Reserved headers. No user header may begin with ReservedPrefix; brokers that have a place of their own for an id or a
// content type use that and leave the header out.
const (
	ReservedPrefix    = "wherry-"
	ControlHeader     = "wherry-control"
	IDHeader          = "wherry-id"
	ContentTypeHeader = "wherry-content-type"
)

// controlVersion leads the encoding; what begins otherwise is refused.
const controlVersion = "1"

// errControl is the kind of every parse failure.
var errControl = errors.New("control header")

// Append appends the encoding to dst: the version, then name=value pairs separated by semicolons, texts escaped as in a
// URL query. The zero Control appends nothing. A negative number, as of a clock before 1970, says nothing and is left out, and a
// count is written up to 2,147,483,647: one number out of bounds would have all of it refused.
func (c *Control) Append(dst []byte) []byte {
	e := encoder{dst: dst, start: len(dst)}
	e.count("a", c.Attempt)
	e.number("p", int64(c.Published))
	e.count("d", c.Defers)
	e.number("dd", int64(c.Deferred))
	if c.Redriven {
		e.number("r", 1)
	}
	if h := c.Hold; h != nil {
		e.number("h", 1)
		e.number("hd", int64(h.Due))
		e.number("hh", int64(h.Hop))
		e.text("ht", h.Topic)
		e.text("hg", h.Group)
		if h.Fanout {
			e.number("hf", 1)
		}
	}
	if f := c.Failure; f != nil {
		e.number("f", 1)
		e.text("ft", f.Topic)
		e.text("fg", f.Group)
		e.text("fr", f.Reason)
		e.text("f1", f.First)
		e.text("f2", f.Last)
		e.number("t1", int64(f.FirstAt))
		e.number("t2", int64(f.LastAt))
		e.count("fa", f.Attempts)
		e.count("fd", f.Delivered)
		e.text("fm", f.Redrives)
	}
	return e.dst
}

type encoder struct {
	dst   []byte
	start int
}

func (e *encoder) name(k string) {
	if len(e.dst) == e.start {
		e.dst = append(e.dst, controlVersion...)
	}
	e.dst = append(e.dst, ';')
	e.dst = append(e.dst, k...)
	e.dst = append(e.dst, '=')
}

func (e *encoder) count(k string, n int) { e.number(k, int64(min(n, math.MaxInt32))) }

func (e *encoder) number(k string, v int64) {
	if v > 0 {
		e.name(k)
		e.dst = strconv.AppendInt(e.dst, v, 10)
	}
}

func (e *encoder) text(k, v string) {
	if v != "" {
		e.name(k)
		e.dst = append(e.dst, url.QueryEscape(v)...)
	}
}

// ParseControl parses what Append wrote. Empty text is the zero Control. Unknown names are passed over, so that an older
// program reads what a newer one wrote; anything else that is wrong is an error and the zero Control.
func ParseControl(s string) (Control, error) {
	if s == "" {
		return Control{}, nil
	}
	version, rest, _ := strings.Cut(s, ";")
	if version != controlVersion {
		return Control{}, fmt.Errorf("%w: unknown version %.20q", errControl, version)
	}
	var p parser
	for rest != "" {
		var pair string
		pair, rest, _ = strings.Cut(rest, ";")
		k, v, ok := strings.Cut(pair, "=")
		if !ok {
			return Control{}, fmt.Errorf("%w: %.40q is no name=value pair", errControl, pair)
		}
		if err := p.set(k, v); err != nil {
			return Control{}, fmt.Errorf("%w: %s: %w", errControl, k, err)
		}
	}
	return p.finish(), nil
}

type parser struct {
	c       Control
	h       HoldData
	f       Failure
	hold    bool
	failure bool
}

func (p *parser) set(k, v string) error {
	var err error
	switch k {
	case "a":
		err = natural(v, &p.c.Attempt)
	case "p":
		err = stamp(v, &p.c.Published)
	case "d":
		err = natural(v, &p.c.Defers)
	case "dd":
		var ns Stamp
		err = stamp(v, &ns)
		p.c.Deferred = time.Duration(ns)
	case "r":
		p.c.Redriven = v == "1"
	case "h":
		p.hold = true
	case "hd":
		p.hold, err = true, stamp(v, &p.h.Due)
	case "hh":
		p.hold, err = true, stamp(v, &p.h.Hop)
	case "ht":
		p.hold = true
		p.h.Topic, err = url.QueryUnescape(v)
	case "hg":
		p.hold = true
		p.h.Group, err = url.QueryUnescape(v)
	case "hf":
		p.hold, p.h.Fanout = true, v == "1"
	case "f":
		p.failure = true
	default:
		return p.setFailure(k, v)
	}
	return err
}

func (p *parser) setFailure(k, v string) error {
	var err error
	switch k {
	case "ft":
		p.f.Topic, err = url.QueryUnescape(v)
	case "fg":
		p.f.Group, err = url.QueryUnescape(v)
	case "fr":
		p.f.Reason, err = url.QueryUnescape(v)
	case "f1":
		p.f.First, err = url.QueryUnescape(v)
	case "f2":
		p.f.Last, err = url.QueryUnescape(v)
	case "t1":
		err = stamp(v, &p.f.FirstAt)
	case "t2":
		err = stamp(v, &p.f.LastAt)
	case "fa":
		err = natural(v, &p.f.Attempts)
	case "fd":
		err = natural(v, &p.f.Delivered)
	case "fm":
		p.f.Redrives, err = url.QueryUnescape(v)
	default:
		return nil
	}
	p.failure = true
	return err
}

func (p *parser) finish() Control {
	c := p.c
	if p.hold {
		h := p.h
		c.Hold = &h
	}
	if p.failure {
		f := p.f
		c.Failure = &f
	}
	return c
}

func natural(v string, dst *int) error {
	n, err := strconv.ParseInt(v, 10, 32)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d is negative", n)
	}
	if err == nil {
		*dst = int(n)
	}
	return err
}

func stamp(v string, dst *Stamp) error {
	n, err := strconv.ParseInt(v, 10, 64)
	if err == nil && n < 0 {
		err = fmt.Errorf("%d is negative", n)
	}
	if err == nil {
		*dst = Stamp(n)
	}
	return err
}
