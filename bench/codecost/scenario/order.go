package scenario

// An Order is the value of the scenarios with JSON, what the handler wants of a body of 128 bytes.
type Order struct {
	ID       uint64 `json:"id"`
	Quantity uint32 `json:"quantity"`
}

// A FilledOrder is the whole of that body.
type FilledOrder struct {
	ID       uint64 `json:"id"`
	Quantity uint32 `json:"quantity"`

	F0 string `json:"f0"`
	F1 string `json:"f1"`
	F2 string `json:"f2"`
	F3 string `json:"f3"`
}

// Body is the JSON of the scenarios: 128 bytes, with an id, a quantity, and filler.
const Body = `{"id":1000000000,"quantity":37,"f0":"0000000000000000","f1":"0000000000000000","f2":"0000000000000000","f3":"00000000000000000"}`

// Sample is the order that encodes to [Body].
func Sample() FilledOrder {
	const filler = "00000000000000000"
	return FilledOrder{ID: 1_000_000_000, Quantity: 37, F0: filler[:16], F1: filler[:16], F2: filler[:16], F3: filler}
}

// bodySize is the size of a body that is not decoded.
const bodySize = 64
