package fastjson

import (
	"encoding"
	stdjson "encoding/json"
	"time"
)

// Types that the library is trusted with.
type (
	order struct {
		ID       uint64 `json:"id"`
		Quantity uint32 `json:"quantity"`
	}
	every struct {
		Text     string            `json:"text"`
		Yes      bool              `json:"yes"`
		Tiny     int8              `json:"tiny"`
		Small    int16             `json:"small"`
		Int      int               `json:"int,omitempty"`
		Big      int64             `json:"big"`
		Byte     uint8             `json:"byte"`
		Unsigned uint64            `json:"unsigned"`
		Single   float32           `json:"single"`
		Double   float64           `json:"double,omitempty"`
		List     []string          `json:"list"`
		Numbers  []int32           `json:"numbers,omitempty"`
		Maybe    *int              `json:"maybe,omitempty"`
		Perhaps  **string          `json:"perhaps"`
		Inner    inner             `json:"inner"`
		Point    *inner            `json:"point,omitempty"`
		Inners   []inner           `json:"inners"`
		Points   []*inner          `json:"points"`
		Named    map[string]inner  `json:"named"`
		Labels   map[string]string `json:"labels,omitempty"`
		Counts   map[label]float64 `json:"counts"`
		Lists    map[string][]string
		Flags    map[string]bool
		Nested   [][]float64
		Hidden   string `json:"-"`
		private  string //nolint:unused // It is there to be left out.
		Label    label
	}
	inner struct {
		A string `json:"a"`
		B int    `json:"B"`
		C []bool `json:"c,omitempty"`
	}
	label string
	one   struct{ V string }
	empty struct{}
	list  []inner
	table map[string]int64
)

// Types that are left to encoding/json.
type (
	timed    struct{ At time.Time }
	lasting  struct{ For time.Duration }
	anything struct{ V any }
	fixed    struct{ V [2]int }
	raw      struct{ V []byte }
	embedded struct{ inner }
	options  struct {
		V int `json:",string"`
	}
	zeroes struct {
		V int `json:"v,omitzero"`
	}
	alike struct {
		V int `json:"value"`
		W int `json:"Value"`
	}
	recursive struct{ Next *recursive }
	numeric   struct{ V stdjson.Number }
	worded    struct {
		V int `json:"naïve"`
	}
	keyed    map[spoken]int
	counted  map[int]int
	complete struct{ V complex128 }
	spoken   string
)

// MarshalText gives spoken a text of its own.
func (s spoken) MarshalText() ([]byte, error) { return []byte("spoken " + s), nil }

var _ encoding.TextMarshaler = spoken("")
