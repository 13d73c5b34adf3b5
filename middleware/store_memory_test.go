package middleware_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/middleware"
)

// claims is a memory store that fails the test on errors.
type claims struct {
	t *testing.T
	s *middleware.MemoryStore
}

func (c claims) claim(key, owner string, want middleware.Claim) {
	c.t.Helper()
	got, err := c.s.Claim(c.t.Context(), key, owner, time.Minute)
	assert.NoError(c.t, err)
	assert.Equal(c.t, got.String(), want.String())
}

func (c claims) finish(key, owner string, want error) {
	c.t.Helper()
	assert.ErrorIs(c.t, c.s.Finish(c.t.Context(), key, owner, time.Hour), want)
}

func (c claims) release(key, owner string) {
	c.t.Helper()
	assert.NoError(c.t, c.s.Release(c.t.Context(), key, owner))
}

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := claims{t, middleware.NewMemoryStore(0)}
		c.claim("k", "a", middleware.ClaimGranted)
		c.claim("k", "a", middleware.ClaimBusy) // each claim is a new one
		c.claim("k", "b", middleware.ClaimBusy)
		c.release("k", "b")
		c.claim("k", "b", middleware.ClaimBusy)
		c.release("k", "a")
		c.claim("k", "b", middleware.ClaimGranted)
		c.finish("k", "a", middleware.ErrClaimLost)
		c.finish("k", "b", nil)
		c.claim("k", "c", middleware.ClaimDone)
		c.release("k", "b")
		c.release("k", "c")
		c.claim("k", "c", middleware.ClaimDone)
		time.Sleep(time.Hour)
		c.claim("k", "c", middleware.ClaimGranted)
		time.Sleep(time.Minute)
		c.claim("k", "d", middleware.ClaimGranted) // the lease of c is over
		c.release("k", "c")
		c.claim("k", "e", middleware.ClaimBusy)
		time.Sleep(time.Minute)
		c.claim("other", "e", middleware.ClaimGranted)
		c.finish("k", "d", nil) // late, and nobody has come since
		c.claim("k", "e", middleware.ClaimDone)
	})
}

func TestMemoryStoreIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := claims{t, middleware.NewMemoryStore(3)}
		for i := range 100 {
			key := fmt.Sprint(i)
			c.claim(key, "a", middleware.ClaimGranted)
			c.finish(key, "a", nil)
			assert.True(t, c.s.Len() <= 3, "over its bound")
		}
		for i := 97; i < 100; i++ {
			c.claim(fmt.Sprint(i), "a", middleware.ClaimDone)
		}
		// What is in progress is not forgotten: a claim more is refused.
		for i := range 3 {
			c.claim(fmt.Sprint("busy", i), "a", middleware.ClaimGranted)
		}
		_, err := c.s.Claim(t.Context(), "one more", "a", time.Minute)
		assert.ErrorIs(t, err, middleware.ErrStoreFull)
		c.finish("busy1", "a", nil)
		c.claim("one more", "a", middleware.ClaimGranted)
	})
}

// Of many claims of one key at once, one is granted.
func TestMemoryStoreRace(t *testing.T) {
	t.Parallel()
	s := middleware.NewMemoryStore(64)
	var inside, handled [8]atomic.Int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 2000 {
				k := rand.IntN(len(inside))
				key, owner := fmt.Sprint(k), fmt.Sprint(w, i)
				claim, err := s.Claim(context.Background(), key, owner, time.Hour)
				if err != nil {
					t.Error(err)
					return
				}
				if claim != middleware.ClaimGranted {
					continue
				}
				if inside[k].Add(1) > 1 {
					t.Errorf("two owners of %s", key)
				}
				handled[k].Add(1)
				inside[k].Add(-1)
				if err := s.Release(context.Background(), key, owner); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for k := range handled {
		assert.True(t, handled[k].Load() > 0, fmt.Sprintf("nobody had %d", k))
	}
	assert.Equal(t, s.Len(), 0)
}

func TestClaimString(t *testing.T) {
	t.Parallel()
	for c, want := range map[middleware.Claim]string{
		middleware.ClaimGranted: "granted", middleware.ClaimBusy: "busy", middleware.ClaimDone: "done", 0: "Claim(0)",
	} {
		assert.Equal(t, c.String(), want)
	}
}
