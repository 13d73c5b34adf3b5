// Package misuse shows that what a broker cannot do does not compile, and that the compiler's message says what is
// missing.
//
// Each file of testdata is a small program with at least one mistake. A comment at the end of a wrong line holds what
// the message has to say, as one or more Go strings:
//
//	consume(b) // want "missing method OpenGroup"
//
// Every wanted text must be met, and every message must be wanted. To add a case, add a file.
package misuse
