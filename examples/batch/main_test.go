package main

func Example() {
	main()
	// Output:
	// batch of 3: 2 stored
	// batch of 3: 3 stored
	// batch of 1: 1 stored
}
