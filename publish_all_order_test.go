package wherry_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
)

var errUnwritable = errors.New("cannot be written")

// picky refuses orders without an amount, and counts what it encodes.
type picky struct {
	codec.JSON[order]
	encoded *int
}

func (p picky) Append(dst []byte, o *order) ([]byte, error) {
	*p.encoded++
	if o.Amount == 0 {
		return dst, errUnwritable
	}
	return p.JSON.Append(dst, o)
}

// What follows in a key is not sent once one before it failed, in process too, where each is taken at once: whether it was too
// large or could not be encoded at all.
func TestPublishAllSendsNothingBehindAFailure(t *testing.T) {
	t.Parallel()
	byText := func(dst []byte, o *order) []byte { return append(dst, o.Text...) }
	for name, c := range map[string]struct {
		topic  wherry.TopicOf[order]
		failed order
		why    error
		opts   []wherry.MessageOption
		depth  int
	}{
		"too large":     {wherry.NewKeyedTopic("orders", jsonOrders{}, byText, wherry.BodyLimit(36)), order{ID: 1 << 40, Text: "k", Amount: 1}, wherry.ErrTooLarge, nil, 1},
		"not encodable": {wherry.NewKeyedTopic("orders", picky{encoded: new(int)}, byText), order{ID: 1, Text: "k"}, errUnwritable, nil, 1},
		"not encodable, with one key for all": {
			wherry.NewTopic("orders", picky{encoded: new(int)}),
			order{ID: 1},
			errUnwritable,
			[]wherry.MessageOption{wherry.WithKey([]byte("k"))},
			0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newMem(t)
			p, err := wherry.NewPublisher(t.Context(), b, c.topic)
			assert.NoError(t, err)
			later, other := order{ID: 2, Text: "k", Amount: 1}, order{ID: 3, Text: "o", Amount: 1}
			err = p.PublishAll(t.Context(), slices.Values([]*order{&c.failed, &later, &other}), c.opts...)
			var each *wherry.BatchError
			if !errors.As(err, &each) {
				t.Fatalf("it returned %v", err)
			}
			assert.Equal(t, len(each.Errs), 3)
			assert.ErrorIs(t, each.Errs[0], c.why)
			assert.ErrorIs(t, each.Errs[1], wherry.ErrNotSent)
			assert.Equal(t, each.Errs[2] == nil, c.depth == 1) // that of another key
			assert.Equal(t, depthOf(t, b, "orders"), c.depth)
		})
	}
}

// What goes to several groups is encoded once.
func TestFanoutIsEncodedOnce(t *testing.T) {
	t.Parallel()
	encoded := 0
	b := newMem(t)
	topic := wherry.NewTopic("news", picky{encoded: &encoded}, wherry.Fanout("mail", "web"))
	publish(t, b, topic, order{ID: 1, Amount: 1}, order{ID: 2, Amount: 1})
	assert.Equal(t, encoded, 2)
}
