package main

func Example() {
	main()
	// Output:
	// payment 1, attempt 1: gateway is down
	// payment 2, attempt 1: no such card
	// payment 1, attempt 2: gateway is down
	// payment 1, attempt 3: paid
	// dead letter: payment 2, rejected: no such card
	// redriven: 1
	// payment 2, attempt 1: paid
}
