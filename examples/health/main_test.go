package main

func Example() {
	main()
	// Output:
	// 503 not ready: orders is idle
	// billing lamp
	// 200 ready: orders is running
	// 503 not ready: orders is stopped
	// 200 live: orders is stopped
}
