package scenario

// An Order is the value of the scenarios with JSON: an id, a quantity, and what fills a body up to 128 bytes.
type Order struct {
	ID       int64  `json:"id"`
	Quantity int    `json:"quantity"`
	Customer string `json:"customer"`
	Article  string `json:"article"`
	Note     string `json:"note"`
}

// sample is an order whose JSON has 128 bytes.
var sample = Order{
	ID: 1234567, Quantity: 3, Customer: "c-20931", Article: "kettle, steel, 1.7 l", Note: "leave it at the back door",
}

// bodySize is the size of a body that is not decoded.
const bodySize = 64
