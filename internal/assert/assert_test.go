package assert_test

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/wherryhq/wherry/internal/assert"
)

// A recorder is a test that only remembers whether it failed.
type recorder struct {
	testing.TB
	failed, ended bool
}

func (r *recorder) Helper() {}

func (r *recorder) Error(...any) { r.failed = true }

func (r *recorder) Errorf(string, ...any) { r.failed = true }

func (r *recorder) Fatalf(string, ...any) {
	r.failed, r.ended = true, true
	runtime.Goexit()
}

func TestChecks(t *testing.T) {
	t.Parallel()
	wrapped := fmt.Errorf("read: %w", io.EOF)
	cases := []struct {
		name          string
		check         func(t testing.TB)
		failed, ended bool
	}{
		{"equal values", func(t testing.TB) { assert.Equal(t, 1, 1) }, false, false},
		{"unequal values", func(t testing.TB) { assert.Equal(t, 1, 2) }, true, false},
		{"equal slices", func(t testing.TB) { assert.Equal(t, []string{"a"}, []string{"a"}) }, false, false},
		{"unequal slices", func(t testing.TB) { assert.Equal(t, []string{"a"}, []string{"b"}) }, true, false},
		{"true", func(t testing.TB) { assert.True(t, true, "never seen") }, false, false},
		{"false", func(t testing.TB) { assert.True(t, false, "seen") }, true, false},
		{"matching error", func(t testing.TB) { assert.ErrorIs(t, wrapped, io.EOF) }, false, false},
		{"other error", func(t testing.TB) { assert.ErrorIs(t, wrapped, io.ErrClosedPipe) }, true, false},
		{"nil for an error", func(t testing.TB) { assert.ErrorIs(t, nil, io.EOF) }, true, false},
		{"error for nil", func(t testing.TB) { assert.ErrorIs(t, wrapped, nil) }, true, false},
		{"no error", func(t testing.TB) { assert.NoError(t, nil) }, false, false},
		{"some error", func(t testing.TB) { assert.NoError(t, errors.New("any")) }, true, true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var r recorder
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.check(&r)
			}()
			<-done
			if r.failed != c.failed || r.ended != c.ended {
				t.Errorf("failed %v, ended %v; want %v, %v", r.failed, r.ended, c.failed, c.ended)
			}
		})
	}
}
