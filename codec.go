package wherry

// A Codec turns values into bodies and back. It is used by many goroutines at once and keeps neither slice it is given.
// Package codec has those that need the standard library only.
type Codec[T any] interface {
	// Append appends the encoding of v to dst and returns the extended slice. It must not keep dst or change *v.
	Append(dst []byte, v *T) ([]byte, error)
	// Decode sets *v from src. It must not keep src, unless the codec says that its values are views.
	Decode(src []byte, v *T) error
	// ContentType is carried with each message, constant per codec.
	ContentType() string
}

// reuser is a codec whose Decode overwrites, or uses again, whatever the value held. For every other codec the engine
// zeroes the value first, so that nothing of the message before shows through.
type reuser interface{ Reuses() bool }

// copier is a codec of []byte whose Append appends the value and nothing else. It is asked about the codec that is used, which
// may have it embedded and another Append.
type copier interface{ Copies(codec any) bool }

func codecCopies(c any) bool {
	is, ok := c.(copier)
	return ok && is.Copies(c)
}

func codecReuses(c any) bool {
	r, ok := c.(reuser)
	return ok && r.Reuses()
}
