package middleware

import (
	"errors"
	"fmt"
	"time"

	"github.com/wherryhq/wherry"
)

// single and bulk are embedded under names that nobody outside sees.
type (
	single interface{ wherry.ConsumeOption }
	bulk   interface{ wherry.BatchOption }
)

// both is an option that fits either shape of handler.
type both struct {
	single
	bulk
}

func use(m wherry.Middleware, b wherry.BatchMiddleware) wherry.ConsumerOption {
	return both{wherry.Use(m), wherry.UseBatch(b)}
}

// mistakes collects what is wrong with the arguments of one middleware.
type mistakes []error

func (m *mistakes) addf(format string, args ...any) { *m = append(*m, fmt.Errorf(format, args...)) }

// atLeast notes a number that is less than the least.
func atLeast(m *mistakes, what string, n, least int) {
	if n < least {
		m.addf("%s is %d, want at least %d", what, n, least)
	}
}

// positive notes a time of less than zero, which would be the default.
func positive(m *mistakes, what string, d time.Duration) {
	if d < 0 {
		m.addf("%s is %v, want more than 0", what, d)
	}
}

// orElse gives a zero field its default.
func orElse[V comparable](v *V, other V) {
	var zero V
	if *v == zero {
		*v = other
	}
}

// invalid is the option that reports them at start.
func (m *mistakes) invalid(name string) wherry.ConsumerOption {
	return wherry.Invalid(fmt.Errorf("middleware: %s: %w", name, errors.Join(*m...)))
}
