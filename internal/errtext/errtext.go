// Package errtext has the text of errors that may be unable to tell it.
package errtext

import "fmt"

// Of is an error's text, also of one whose Error panics, such as the nil pointer that a handler returned as an error. The error
// must not be nil.
func Of(err error) (s string) {
	defer func() {
		if v := recover(); v != nil {
			s = fmt.Sprintf("%T, whose Error panicked: %v", err, v)
		}
	}()
	return err.Error()
}
