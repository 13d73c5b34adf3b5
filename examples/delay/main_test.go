package main

func Example() {
	main()
	// Output:
	// put in the cake
	// look at the cake
	// take out the cake
	// not too early: true
}
