package main

func Example() {
	main()
	// Unordered output:
	// billing: invoice of 12.50 for order 1
	// billing: invoice of 8.00 for order 2
	// audit: order 1 was placed
	// audit: order 2 was placed
}
