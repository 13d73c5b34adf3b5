package wherry

import (
	"fmt"
	"slices"
)

const (
	defaultBodyLimit   = 10 << 20
	defaultHeaderLimit = 64 << 10
	// controlReserve is kept free of every limit on a record, so that what could be published can always be held and
	// dead-lettered with its control data.
	controlReserve = 8 << 10
	// maxErrorText is where the text of an error is cut before it travels.
	maxErrorText = 1 << 10
)

// settings are what topics, consumers and publishers have in common. A consumer's or publisher's own wins over its
// topic's; nil and zero mean not set.
type settings struct {
	retry         *RetryPolicy
	noDeadLetters bool
	deadLetterTo  string
	bodyLimit     int
	headerLimit   int
	errs          []error
}

func (s *settings) failf(format string, args ...any) {
	s.errs = append(s.errs, fmt.Errorf(format, args...))
}

// over returns s with what it leaves open taken from base.
func (s settings) over(base settings) settings {
	if s.retry == nil {
		s.retry = base.retry
	}
	if !s.noDeadLetters && s.deadLetterTo == "" {
		s.noDeadLetters, s.deadLetterTo = base.noDeadLetters, base.deadLetterTo
	}
	if s.bodyLimit == 0 {
		s.bodyLimit = base.bodyLimit
	}
	if s.headerLimit == 0 {
		s.headerLimit = base.headerLimit
	}
	return s
}

// filled returns s with defaults in place of what is not set.
func (s settings) filled() settings {
	if s.retry == nil {
		s.retry = &RetryPolicy{}
	}
	policy := s.retry.withDefaults()
	s.retry = &policy
	if s.bodyLimit == 0 {
		s.bodyLimit = defaultBodyLimit
	}
	if s.headerLimit == 0 {
		s.headerLimit = defaultHeaderLimit
	}
	return s
}

func (s *settings) setRetry(p RetryPolicy) {
	if s.retry != nil {
		s.failf("two retry policies: one replaces the other as a whole, so that only one can be meant")
	}
	if err := p.validate(); err != nil {
		s.errs = append(s.errs, err)
	}
	p.Delays = slices.Clone(p.Delays) // the caller's may change
	s.retry = &p
}

func (s *settings) setDeadLetterTo(name string) {
	if err := checkName(name); err != nil {
		s.failf("dead-letter topic: %w", err)
	}
	if s.noDeadLetters {
		s.failf("both NoDeadLetters and DeadLetterTo")
	}
	if s.deadLetterTo != "" && s.deadLetterTo != name {
		s.failf("two dead-letter topics, %q and %q: only one can be meant", s.deadLetterTo, name)
	}
	s.deadLetterTo = name
}

func (s *settings) setNoDeadLetters() {
	if s.deadLetterTo != "" {
		s.failf("both NoDeadLetters and DeadLetterTo")
	}
	s.noDeadLetters = true
}

func (s *settings) setBodyLimit(n int) {
	if n <= 0 {
		s.failf("body limit is %d bytes, want at least 1", n)
		return
	}
	s.bodyLimit = n
}

func (s *settings) setHeaderLimit(n int) {
	if n <= 0 {
		s.failf("header limit is %d bytes, want at least 1", n)
		return
	}
	s.headerLimit = n
}
