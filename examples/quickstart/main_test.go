package main

func Example() {
	main()
	// Output:
	// shipped order 1: lamp
	// shipped order 2: chair
	// shipped order 3: desk
	// stopped, nothing left behind
}
