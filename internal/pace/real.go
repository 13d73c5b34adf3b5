//go:build !simulated

package pace

// stretched is how many times slower than on its machine the program runs.
const stretched = 1
