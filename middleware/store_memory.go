package middleware

import (
	"container/list"
	"context"
	"fmt"
	"sync"
	"time"
)

const defaultMarks = 100_000

// MemoryStore is a [Store] in the memory of the process, for one process and for tests: other processes, and this one
// after a restart, know nothing of its marks. It is bounded: when it is full it forgets the oldest done mark, whose
// duplicates are then handled again, and refuses a claim with [ErrStoreFull] when all that it has is in progress. It is
// made by [NewMemoryStore] and safe for concurrent use. It starts no goroutine and no timer.
type MemoryStore struct {
	most int

	mu    sync.Mutex // guards the fields below
	marks map[string]*list.Element
	busy  list.List // of *mark, the oldest claim first
	done  list.List // of *mark, the first finished first
}

// mark is what is known of a key. Its element is in one of the lists.
type mark struct {
	key   string
	owner string // of who works at it; empty when it is done
	until time.Time
}

// NewMemoryStore returns an empty store for at most n keys; 0 is 100,000. A negative n is an error where the store is used.
func NewMemoryStore(n int) *MemoryStore {
	orElse(&n, defaultMarks)
	return &MemoryStore{most: n, marks: make(map[string]*list.Element)}
}

// Claim implements [Store].
func (s *MemoryStore) Claim(_ context.Context, key, owner string, lease time.Duration) (Claim, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.dropEnded(now)
	if e := s.marks[key]; e != nil {
		switch m := markOf(e); {
		case !now.Before(m.until):
			s.drop(e)
		case m.owner == "":
			return ClaimDone, nil
		default:
			return ClaimBusy, nil
		}
	}
	if err := s.makeRoom(); err != nil {
		return 0, err
	}
	s.marks[key] = s.busy.PushBack(&mark{key: key, owner: owner, until: now.Add(lease)})
	return ClaimGranted, nil
}

// Finish implements [Store].
func (s *MemoryStore) Finish(_ context.Context, key, owner string, keep time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.marks[key]; e != nil {
		if markOf(e).owner != owner {
			return ErrClaimLost
		}
		s.drop(e)
	}
	if err := s.makeRoom(); err != nil {
		return err
	}
	s.marks[key] = s.done.PushBack(&mark{key: key, until: time.Now().Add(keep)})
	return nil
}

// Release implements [Store].
func (s *MemoryStore) Release(_ context.Context, key, owner string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.marks[key]; e != nil && markOf(e).owner == owner {
		s.drop(e)
	}
	return nil
}

// Len returns the number of keys that the store has, ended ones included until they are met.
func (s *MemoryStore) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.marks)
}

// dropEnded forgets what has ended, as far as it is at the front.
func (s *MemoryStore) dropEnded(now time.Time) {
	for _, l := range []*list.List{&s.busy, &s.done} {
		for e := l.Front(); e != nil && !now.Before(markOf(e).until); e = l.Front() {
			s.drop(e)
		}
	}
}

// makeRoom forgets the oldest done mark when the store is full.
func (s *MemoryStore) makeRoom() error {
	if len(s.marks) < s.most {
		return nil
	}
	oldest := s.done.Front()
	if oldest == nil {
		return fmt.Errorf("%w: %d keys in progress", ErrStoreFull, s.most)
	}
	s.drop(oldest)
	return nil
}

func (s *MemoryStore) drop(e *list.Element) {
	m := markOf(e)
	delete(s.marks, m.key)
	if m.owner == "" {
		s.done.Remove(e)
	} else {
		s.busy.Remove(e)
	}
}

func markOf(e *list.Element) *mark {
	return e.Value.(*mark) //nolint:forcetypeassert // The lists hold nothing else.
}
