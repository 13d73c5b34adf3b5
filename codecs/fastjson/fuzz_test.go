package fastjson

import (
	"math"
	"testing"
)

// everything has every field of every, of an order, of an inner and of one.
const everything = `{"id":3,"quantity":4,"V":"v","a":"b","B":3,"c":[true,false],"text":"x","yes":true,"tiny":-128,"small":32767,"int":1,
"big":-9,"byte":255,"unsigned":7,"single":1.5,"double":-2.25e-7,"list":["a","b"],"numbers":[1,2,3],"maybe":5,"perhaps":"so",
"inner":{"a":"a","B":1,"c":[]},"point":{"a":"p"},"inners":[{"B":2},{}],"points":[{"a":"q","z":[{}]}],"named":{"n":{"a":"m"}},
"labels":{"k":"v","l":""},"counts":{"c":1e300},"Lists":{"x":["y"],"z":[]},"Flags":{"f":false},"Nested":[[1],[],[2.5,-0]],"Label":"l"}`

// seeds are what has told decoders apart.
var seeds = []string{
	everything, `{"text":"\u00e9\ud83d\ude00\ud800"}`, `{"text":"<&>\u2028"}`, "{\"text\":\"\u2028\u2029<>&\"}", `{"text":"a\/b"}`,
	`{"TEXT":"x"}`, `{"text":"a","Text":"b"}`, `{"inner":{"a":"1"},"inner":{"B":2}}`, `{"labels":{"k":"1"},"labels":{"l":"2"}}`,
	`{"labels":{"k":"1","k":"2"}}`, `{"named":{"n":{"a":"1"},"n":{"B":2}}}`, `{"list":["a","b"],"list":["c"]}`, `{"list":null,"labels":null}`,
	`{"maybe":null,"point":null,"perhaps":null}`, `{"inner":null}`, `{"tiny":128}`, `{"tiny":-129}`, `{"tiny":1.0}`, `{"tiny":1e1}`,
	`{"byte":256}`, `{"byte":-0}`, `{"tiny":-0}`, `{"big":9223372036854775807}`, `{"big":9223372036854775808}`, `{"unsigned":18446744073709551615}`,
	`{"double":1e400}`, `{"double":-0}`, `{"double":1e-400}`, `{"single":3.5e38}`, `{"single":16777217}`, `{"double":0.1e+5}`, `{"double":01}`,
	`{"double":0.30000000000000004,"single":0.1}`, `{"double":123456789012345678901234567890}`, `{"counts":{"":1,"a":1e21,"b":1e-7}}`,
	`{"Hidden":"x","private":"y","-":"z"}`, `{"numbers":[1,2,"x"]}`, `{"numbers":[]}`, `{"numbers":[1 2]}`, `{"Nested":[[[]]]}`,
	`{"points":[null,{}]}`, `{"flags":{"f":true}}`, `{"Flags":{"f":null}}`, `{"label":"x"}`, "{\"text\":\"\x80\xff\"}", "{\"text\":\"\x7f\"}",
	"{\"text\":\"\x00\"}", `{"text":"` + "\u00ff\u00fe" + `","zzz":"` + "\u1e9e" + `"}`, `{"Kounts":1,"ſmall":2}`, `{"counts ":{}}`, "\ufeff{}",
	`[{"a":"x"},{"B":1,"b":2}]`, `[null]`, `[]`, `{"a":1,"b":-5}`, `{"a":1.5}`, `"text"`, `123`, `true`, `null`, ` `, `{"":0}`, `{"":"","V":""}`,
}

// FuzzDecode: every type decodes as by encoding/json, whatever the body; what decodes is written as by encoding/json.
func FuzzDecode(f *testing.F) {
	for _, list := range [][]string{seeds, plainBodies, slowBodies} {
		for _, s := range list {
			f.Add([]byte(s))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		same[order](t, body)
		same[every](t, body)
		same[inner](t, body)
		same[one](t, body)
		same[empty](t, body)
		same[list](t, body)
		same[table](t, body)
		same[[][]*string](t, body)
		same[map[string]map[label][]inner](t, body)
		same[timed](t, body)
		same[alike](t, body)
		same[embedded](t, body)
	})
}

// FuzzAppend: values of every kind are written as by encoding/json, and come back.
func FuzzAppend(f *testing.F) {
	f.Add("text", int64(1), uint64(2), 0.5, true)
	f.Add("<&>\u2028\x00\x1f\x7f\xff\"\\/", int64(-1<<63), ^uint64(0), 1e21, false)
	f.Add("é😀\t\n\r\b\f", int64(0), uint64(0), 1e-7, false)
	f.Add("", int64(127), uint64(255), math.Copysign(0, -1), true)
	f.Fuzz(func(t *testing.T, text string, i int64, u uint64, x float64, yes bool) {
		n, p := int(i), &text
		v := every{
			Text: text, Yes: yes, Tiny: int8(i), Small: int16(i), Int: n, Big: i, Byte: uint8(u), Unsigned: u, Single: float32(x), Double: x,
			List: []string{text, ""}, Numbers: []int32{int32(i)}, Maybe: &n, Perhaps: &p, Inner: inner{A: text, B: n, C: []bool{yes}},
			Point: &inner{}, Inners: []inner{{}, {B: n}}, Points: []*inner{nil, {A: text}}, Named: map[string]inner{text: {}, "n": {A: text}},
			Labels: map[string]string{text: text, "b": "", "a": ""}, Counts: map[label]float64{label(text): x, "z": 0},
			Lists: map[string][]string{text: {text}, "nil": nil}, Flags: map[string]bool{text: yes}, Nested: [][]float64{{x}, nil, {}},
			Hidden: text, Label: label(text),
		}
		sameBytes(t, &v)
		sameBytes(t, &every{})
		sameBytes(t, &every{Labels: map[string]string{}, List: []string{}, Nested: [][]float64{}})
		sameBytes(t, &map[string]map[label][]inner{text: {label(text): {{A: text}}}, "": nil})
		if body, err := New[every]().Append(nil, &v); err == nil {
			same[every](t, body)
		}
	})
}
