package mem_test

import (
	"bytes"
	"testing"

	"github.com/wherryhq/wherry/driver"
	"github.com/wherryhq/wherry/mem"
)

func TestPoison(t *testing.T) {
	t.Parallel()
	wantPoison(t, mem.Config{Poison: true})
}

// wantPoison settles deliveries whose bodies and keys somebody keeps.
func wantPoison(t *testing.T, c mem.Config) {
	t.Helper()
	for _, v := range []driver.Verdict{driver.Done, driver.Release} {
		b, s, r := one(t, c)
		if err := s.Send(t.Context(), []driver.Record{{Key: []byte("key"), Body: []byte("body")}}); err != nil {
			t.Fatal(err)
		}
		ds := take(t, r, 1)
		kept := [][]byte{ds[0].Key, ds[0].Body}
		settle(t, r, v, ds...)
		send(t, s, "other")
		for _, k := range kept {
			if !bytes.Equal(k, bytes.Repeat([]byte{0xdb}, len(k))) {
				t.Errorf("%v: what was kept is %q", v, k)
			}
		}
		if v == driver.Release {
			d := take(t, r, 1)[0]
			want(t, "released", string(d.Key)+" "+string(d.Body), "key body")
			// What a lost tenure leaves behind is nobody's to overwrite.
			next := receiver(t, b, "", queueTopic("orders"))
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
			settle(t, next, driver.Done, take(t, next, 9)...)
			want(t, "lost", string(d.Key)+" "+string(d.Body), "key body")
		}
	}
}
