package wherry_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
)

// A step is one of a key's messages.
type step struct {
	Key string `json:"key"`
	N   int    `json:"n"` // from 0 on for each key
}

var (
	jsonSteps = codec.JSON[step]{}
	steps     = wherry.NewKeyedTopic("steps", jsonSteps, stepKey)
)

func stepKey(dst []byte, s *step) []byte { return append(dst, s.Key...) }

var errStep = errors.New("the step is broken")

// stepsOf are n steps of each of the keys, those of a key in order.
func stepsOf(n int, keys ...string) []step {
	var all []step
	for i := range n {
		for _, key := range keys {
			all = append(all, step{key, i})
		}
	}
	return all
}

// manyKeys are n keys.
func manyKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%03d", i)
	}
	return keys
}

// A stage watches the handler calls of a sequence: that no key is handled twice at once, and in which order.
type stage struct {
	tb     testing.TB
	takes  func(s step, attempt int) time.Duration
	result func(s step, attempt int) wherry.Outcome // nil is an acknowledgement

	mu    sync.Mutex
	busy  map[string]int
	most  int // handled at once, over all keys
	now   int
	calls map[string][]int // of each key, the numbers
	done  map[string][]int // that were acknowledged
	first map[string]time.Time
}

func newStage(tb testing.TB) *stage {
	return &stage{
		tb: tb, busy: map[string]int{}, calls: map[string][]int{}, done: map[string][]int{}, first: map[string]time.Time{},
	}
}

func (s *stage) handle(ctx context.Context, m *wherry.Message[step]) wherry.Outcome {
	v := m.Value
	if got := string(m.Key()); got != v.Key {
		s.tb.Errorf("the key of %v is %q", v, got)
	}
	s.mu.Lock()
	s.busy[v.Key]++
	s.now++
	s.most = max(s.most, s.now)
	if n := s.busy[v.Key]; n > 1 && v.Key != "" {
		s.tb.Errorf("%d handlers have the key %q", n, v.Key)
	}
	s.calls[v.Key] = append(s.calls[v.Key], v.N)
	s.first[fmt.Sprint(v.Key, v.N)] = time.Now()
	s.mu.Unlock()
	if s.takes != nil {
		if d := s.takes(v, m.Attempt()); d > 0 {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-t.C:
			case <-ctx.Done():
			}
		}
	}
	o := wherry.Ack()
	if s.result != nil {
		o = s.result(v, m.Attempt())
	}
	s.mu.Lock()
	s.busy[v.Key]--
	s.now--
	if o.Kind() == wherry.KindAck {
		s.done[v.Key] = append(s.done[v.Key], v.N)
	}
	s.mu.Unlock()
	return o
}

// of is what a stage noted of a key, as a text.
func (s *stage) of(list map[string][]int, key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Trim(fmt.Sprint(list[key]), "[]")
}

// inOrder wants every key's messages handled in order, those that failed again and again until they were done or given up.
func (s *stage) inOrder(want int, keys ...string) {
	s.tb.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		last := -1
		for i, n := range s.calls[key] {
			if n != last && n != last+1 {
				s.tb.Errorf("key %s, call %d: %d comes after %d: %v", key, i, n, last, s.calls[key])
				break
			}
			last = n
		}
		if last != want-1 {
			s.tb.Errorf("key %s: the last is %d, want %d", key, last, want-1)
		}
	}
}
