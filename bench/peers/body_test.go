package main

import (
	"encoding/json"
	"testing"

	"github.com/wherryhq/wherry/bench/document"
)

func TestOrderBody(t *testing.T) {
	t.Parallel()
	for _, size := range []int{64, 100, 128} {
		k := orders{size: size}
		body, err := k.raw(nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range []uint32{0, 9, 1_234_567} {
			if body, err = k.raw(body[:0], id); err != nil {
				t.Fatal(err)
			}
			var v order
			if err := json.Unmarshal(body, &v); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if len(body) != size || k.id(&v) != id || v.Quantity != 37 {
				t.Errorf("%s: %d bytes, id %d, want %d bytes, id %d", body, len(body), k.id(&v), size, id)
			}
		}
	}
	for _, size := range []int{20, 36, 4096} {
		if body, err := (orders{size: size}).raw(nil, 0); err == nil {
			t.Errorf("a body of %d bytes: %s", size, body)
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	k := notesOf(nil, 64)
	body, err := k.raw(nil, 42)
	if err != nil {
		t.Fatal(err)
	}
	var read, made note
	if err := json.Unmarshal(body, &read); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	k.value(&made, 42, 0)
	if read != made || len(read.Payload) != 64 {
		t.Errorf("%+v, want %+v", read, made)
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	values := make([]int64, 1000)
	for i := range values {
		values[i] = int64(1000 - i)
	}
	want := document.Quantiles{P50: 500, P95: 950, P99: 990, P999: 999, Max: 1000}
	if got := *quantiles(values); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
