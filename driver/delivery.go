package driver

// A Delivery comes in. A driver fills all fields but Slot, which it leaves alone. Body, Key and Headers are read-only
// and stay as they are until the delivery is settled; a driver may use their memory again afterwards.
type Delivery struct {
	// Token and Tenure name this delivery, in this tenure, to the receiver that made it, which never uses a pair twice.
	Token  Token
	Tenure uint64
	// Delivered is how often the broker delivered it, this time included; 0 is unknown.
	Delivered int
	// Slot belongs to the engine while the delivery does.
	Slot int

	// What most messages have stands together, so that handling one reads few lines of a cache.
	Body        []byte
	ID          ID // zero where a foreign record has none
	ContentType string
	Control     Control // what it points to is read only, and may be that of several deliveries
	// Headers are without those that begin with ReservedPrefix. A driver in process leaves these out too: a foreign record may
	// have some.
	Headers []Header
	Key     []byte
	// Topic is the name of the topic of the source that it came from.
	Topic string
}

// Size is the number of bytes of body, key and headers, as limits count them.
func (d *Delivery) Size() int {
	return len(d.Body) + len(d.Key) + headerSize(d.Headers)
}

// HeaderSize is the number of bytes of all header keys and values.
func (d *Delivery) HeaderSize() int { return headerSize(d.Headers) }

// A Token holds what a driver needs to settle: numbers for brokers that count, a pointer in Ref for those that do not.
// Ref holds pointers only, so that a token never allocates.
type Token struct {
	A, B uint64
	Ref  any
}
