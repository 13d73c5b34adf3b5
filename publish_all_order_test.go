package wherry_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
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

// What PublishAll cannot take is each value's own in PublishEach: ids, keys, headers, delays. A mistake is that of its value, and
// holds back what follows in its key.
func TestPublishEach(t *testing.T) {
	t.Parallel()
	for name, cfg := range joins {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				cfg.MaxMessages = 0
				b := mem.New(cfg)
				defer b.Close(context.Background())
				p, err := wherry.NewPublisher(t.Context(), b, orders)
				assert.NoError(t, err)
				key := wherry.WithKey([]byte("k"))
				asked := 0
				one := order{} // for all, as each is encoded before the next
				err = p.PublishEach(t.Context(), func(yield func(*order, []wherry.MessageOption) bool) {
					for i, opts := range [][]wherry.MessageOption{
						{wherry.WithID("a")},
						{wherry.WithID("b"), wherry.WithDelay(time.Hour)},
						nil,
						{wherry.WithID(""), key},
						{wherry.WithID("behind it"), key},
						{wherry.WithHeader("h", "v"), wherry.WithKey([]byte("other"))},
					} {
						asked++
						one.ID = i
						if !yield(&one, opts) {
							return
						}
					}
				})
				each, ok := errors.AsType[*wherry.BatchError](err)
				assert.True(t, ok, "there is an entry for each")
				assert.Equal(t, asked, 6)
				for i, err := range each.Errs {
					if i == 3 || i == 4 {
						assert.ErrorIs(t, err, wherry.ErrNotSent)
					} else {
						assert.NoError(t, err)
					}
				}
				began := time.Now()
				var came []string
				for m, err := range wherry.Pull(t.Context(), wherry.Queue(b, orders)) {
					assert.NoError(t, err)
					switch m.Value.ID {
					case 0:
						assert.Equal(t, m.ID(), "a")
					case 1:
						assert.Equal(t, m.ID(), "b")
						assert.True(t, time.Since(began) >= time.Hour-time.Second, "it was delayed")
					case 2:
						assert.True(t, m.ID() != "", "it has an id that was made")
					case 5:
						assert.Equal(t, m.Headers().Get("h"), "v")
						assert.Equal(t, string(m.Key()), "other")
					}
					came = append(came, strconv.Itoa(m.Value.ID))
					m.Settle(wherry.Ack())
					if len(came) == 4 {
						break
					}
				}
				slices.Sort(came)
				assert.Equal(t, came, []string{"0", "1", "2", "5"})
			})
		})
	}
}

// A context that ends is the end of what is asked for, and the zero publisher publishes nothing.
func TestPublishEachEnds(t *testing.T) {
	t.Parallel()
	b := newMem(t)
	p, err := wherry.NewPublisher(t.Context(), b, orders)
	assert.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	asked := 0
	err = p.PublishEach(ctx, func(yield func(*order, []wherry.MessageOption) bool) {
		for range 10 {
			if asked++; asked == 3 {
				stop()
			}
			if !yield(&order{}, nil) {
				return
			}
		}
	})
	assert.ErrorIs(t, err, context.Canceled)
	assert.ErrorIs(t, err, wherry.ErrNotSent)
	assert.Equal(t, asked, 3)
	assert.ErrorIs(t, new(wherry.Publisher[order]).PublishEach(t.Context(), nil), wherry.ErrNotSent)
}
