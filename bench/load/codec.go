package load

import (
	"fmt"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/bench/matrix"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/codecs/fastjson"
)

// codecs are those of JSON bodies, by the name that a cell has for them.
var codecs = map[string]wherry.Codec[note]{
	matrix.JSON:     codec.JSON[note]{},
	matrix.FastJSON: fastjson.New[note](),
}

// codecOf returns a codec of JSON bodies. The error is the reason why a cell is not measured.
func codecOf(name string) (wherry.Codec[note], error) {
	c, ok := codecs[name]
	if !ok {
		return nil, fmt.Errorf("the codec %s is not part of this program", name)
	}
	return c, nil
}
