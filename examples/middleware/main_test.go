package main

func Example() {
	main()
	// Output:
	// packing a lamp for north
	// lamp: ack
	// chair: reject: the message names no tenant
	// vase: reject: handler panicked: dropped it
	// packing a bell for north
	// bell: ack
}
