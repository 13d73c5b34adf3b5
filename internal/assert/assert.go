// Package assert has the checks that nearly every test of this module repeats. It exists so that go.mod stays empty.
//
// Equal, True and ErrorIs report and let the test go on, so that they may be called from any goroutine of it. NoError ends
// the test, since what follows seldom makes sense without its result: it belongs on the test's own goroutine.
package assert

import (
	"errors"
	"reflect"
	"testing"
)

// Equal reports an error unless got and want are deeply equal.
func Equal[T any](t testing.TB, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v, want %#v", got, want)
	}
}

// True reports an error with the given text unless ok.
func True(t testing.TB, ok bool, text string) {
	t.Helper()
	if !ok {
		t.Error(text)
	}
}

// ErrorIs reports an error unless err matches target. A nil target wants a nil error.
func ErrorIs(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("got error %v, want one that matches %v", err, target)
	}
}

// NoError ends the test unless err is nil.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}
