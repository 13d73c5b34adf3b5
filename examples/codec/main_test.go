package main

import (
	"errors"
	"testing"
)

func Example() {
	main()
	// Output:
	// 12 bytes of application/vnd.example.reading, key 00000007
	// sensor 7: 21.5 °C
}

func TestCodecRefusesOtherSizes(t *testing.T) {
	t.Parallel()
	var r Reading
	for _, size := range []int{0, readingSize - 1, readingSize + 1} {
		if err := (readingCodec{}).Decode(make([]byte, size), &r); !errors.Is(err, errSize) {
			t.Errorf("%d bytes: got %v, want %v", size, err, errSize)
		}
	}
}
