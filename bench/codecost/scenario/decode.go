package scenario

import "context"

// decode is the codec alone: a body into a value that was zeroed, as the engine does it.
func decode[T any](_ context.Context, w Work, l load[T], counted func()) error {
	v := new(T)
	for range w.N {
		var zero T
		*v = zero
		if err := l.codec.Decode(l.body, v); err != nil {
			return err
		}
	}
	counted()
	return nil
}

// encode is the codec alone, of the whole order, into a buffer that is used again.
func encode(_ context.Context, w Work, counted func()) error {
	c, err := orderCodec[FilledOrder](w.Codec)
	if err != nil {
		return err
	}
	v := Sample()
	var buf []byte
	for range w.N {
		if buf, err = c.Append(buf[:0], &v); err != nil {
			return err
		}
	}
	counted()
	return nil
}
