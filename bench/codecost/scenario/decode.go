package scenario

import "context"

// decode is the codec alone: a body into a value that was zeroed, as the engine does it.
func decode[T any](_ context.Context, w Work, l load[T], counted func()) error {
	body, err := l.codec.Append(nil, &l.value)
	if err != nil {
		return err
	}
	v := new(T)
	for range w.N {
		var zero T
		*v = zero
		if err := l.codec.Decode(body, v); err != nil {
			return err
		}
	}
	counted()
	return nil
}

// encode is the codec alone, into a buffer that is used again.
func encode[T any](_ context.Context, w Work, l load[T], counted func()) error {
	var buf []byte
	for range w.N {
		var err error
		if buf, err = l.codec.Append(buf[:0], &l.value); err != nil {
			return err
		}
	}
	counted()
	return nil
}
