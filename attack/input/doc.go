// Package input has hostile tries on what Wherry is given, and nothing but tests: options, names, headers, keys, ids, bodies, codecs,
// handlers and calls that no careful program would make.
//
// Each try is a sub-test whose name says what is tried. A try runs in a bubble of testing/synctest, on a broker of its own. It holds
// that what is wrong is an error that says what, or has the documented outcome, that no message is lost, and that no goroutine is
// left.
package input
