package main

func Example() {
	main()
	// Output:
	// fetched /
	// fetched /about
	// fetched /prices
	// left for later: /contact
}
