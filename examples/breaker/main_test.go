package main

func Example() {
	main()
	// Output:
	// the bank does not answer for Ada
	// the bank does not answer for Ben
	// breaker: open, was closed
	// breaker: half-open, was open
	// Cleo paid
	// breaker: closed, was half-open
	// Dora paid
	// Ada paid
	// Ben paid
}
