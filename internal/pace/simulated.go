//go:build simulated

package pace

// stretched is about how many times slower a program is that runs under valgrind. A handler that is quick would not seem so
// there, and what is counted would not be the way that messages go.
const stretched = 100
