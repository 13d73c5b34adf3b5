package middleware

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/wherryhq/wherry"
)

// DedupConfig says how [Dedup] tells duplicates. Fields that are zero take their defaults.
type DedupConfig struct {
	// Key names what must happen once; two messages of one key are duplicates. Empty is no key, see Unkeyed. It must be
	// safe for concurrent use. Default: [ByID]. There is [ByBody] too.
	Key func(m wherry.AnyMessage) string
	// Unkeyed is what becomes of a message without a key. Default: it is handled.
	Unkeyed Unkeyed
	// Lease is how long a message is in progress at most. It must be longer than a handler call takes: when it ends, a
	// duplicate is handled beside it. Default 5 minutes.
	Lease time.Duration
	// Keep is how long a handled message is remembered. Default 24 hours.
	Keep time.Duration
	// Again is how long a duplicate of a message in progress waits before it is looked at again. Default 5 s.
	Again time.Duration
	// HandleAnyway handles messages while the store fails, so that duplicates may be handled twice. By default they wait:
	// they are deferred by Again.
	HandleAnyway bool
	// OnError is called with what the store returned. It must be safe for concurrent use. nil is nobody.
	OnError func(err error)
}

const (
	defaultLease = 5 * time.Minute
	defaultKeep  = 24 * time.Hour
	defaultAgain = 5 * time.Second
	// storeTimeout bounds what is told to the store after the handler returned, whose context may have ended.
	storeTimeout = 5 * time.Second
)

// Unkeyed is what becomes of a message whose key is empty.
type Unkeyed uint8

const (
	// HandleUnkeyed handles it, each time it comes. It is the zero value.
	HandleUnkeyed Unkeyed = iota
	// RejectUnkeyed sends it to the dead letters with [ErrNoKey].
	RejectUnkeyed
)

// ErrNoKey is the reason for which [RejectUnkeyed] rejects.
var ErrNoKey = errors.New("middleware: the message has no key to tell duplicates by")

// errNoClaim is a store that broke its contract.
var errNoClaim = errors.New("the store answered with no claim")

func (c DedupConfig) validate(s Store) (bad mistakes) {
	switch m := s.(type) {
	case nil:
		bad.addf("the store is nil")
	case *MemoryStore:
		if m == nil || m.most < 1 {
			bad.addf("the store's number of keys is negative, or it was not made by NewMemoryStore")
		}
	}
	if c.Unkeyed > RejectUnkeyed {
		bad.addf("Unkeyed is %d, want HandleUnkeyed or RejectUnkeyed", c.Unkeyed)
	}
	positive(&bad, "Lease", c.Lease)
	positive(&bad, "Keep", c.Keep)
	positive(&bad, "Again", c.Again)
	return bad
}

func (c DedupConfig) withDefaults() DedupConfig {
	if c.Key == nil {
		c.Key = ByID
	}
	if c.OnError == nil {
		c.OnError = func(error) {}
	}
	orElse(&c.Lease, defaultLease)
	orElse(&c.Keep, defaultKeep)
	orElse(&c.Again, defaultAgain)
	return c
}

// Dedup handles messages of one key once. Before the handler it claims the key in s, by a lease: a duplicate that comes
// meanwhile, here or in another process, is deferred until the outcome is known. An acknowledged message is then marked as
// done, and its duplicates are acknowledged without a handler call. Any other outcome gives the claim back, so that a
// message that failed runs again, and so does one that is redriven from the dead letters. After a crash the claim ends with
// its lease. Keys are told apart by topic and group, so that consumers may share a store. The messages of a broadcast are
// handled once by each reader: its marks are its own, and end with its run.
//
// An acknowledgement that it saw is final, so nothing outside of it may make a retry of one: the next try would be acknowledged
// without a handler call. [Audit] does that where its sink fails, and is listed after it.
//
// It does not fit a consumer in transactions ([wherry.Transacted]), where it is an error at start: the mark would stay when a
// commit fails, and what the handler published would be lost.
//
// It cannot make the handler's effects happen once by itself: a process that dies between the effect and the mark handles
// the message again.
//
// The mark is set after the handler returned, within 5 s of its own, and those of a batch within 5 s for all of them,
// whatever became of the handler's context. When that fails, what the handler did stands and the message is done; a
// duplicate that comes after the lease is handled again. In a batch each message is claimed in its turn, which is a call of
// the store each, and what is not to be handled is taken out. A nil store is an error at start. A store that is a [Laster]
// tells [wherry.Explain] how far this reaches.
func Dedup(s Store, c DedupConfig) wherry.ConsumerOption {
	if bad := c.validate(s); len(bad) > 0 {
		return bad.invalid("dedup")
	}
	d := &dedup{store: s, cfg: c.withDefaults(), prefix: strconv.FormatUint(rand.Uint64(), 36) + "-"}
	return wherry.UseDedup(reachOf(s), d.lane, d.batchLane)
}

// reachOf is how far the store's marks reach. They never commit with the handler's effects: they are set after it returned.
func reachOf(s Store) wherry.DedupReach {
	if l, ok := s.(Laster); ok && l.Lasts() {
		return wherry.DedupOutlives
	}
	return wherry.DedupInProcess
}

// dedup is what the lanes share.
type dedup struct {
	store  Store
	cfg    DedupConfig
	prefix string // of owners
	owners atomic.Uint64
}

// A held is a claim that was granted. The zero held is none.
type held struct{ key, owner string }

func (d *dedup) lane(next wherry.Next) wherry.Next {
	return func(ctx context.Context, m wherry.AnyMessage) (o wherry.Outcome) {
		h, instead, ok := d.claim(ctx, m)
		if !ok {
			return instead
		}
		defer func() { // of a panic o is zero, a retry
			ctx, stop := own(ctx)
			defer stop()
			d.settle(ctx, h, o)
		}()
		return next(ctx, m)
	}
}

func (d *dedup) batchLane(next wherry.BatchNext) wherry.BatchNext {
	var hs []held
	return func(ctx context.Context, b wherry.AnyBatch) (rest wherry.Outcome) {
		hs = hs[:0]
		defer func() {
			ctx, stop := own(ctx)
			defer stop()
			for i, h := range hs {
				d.settle(ctx, h, outcomeAt(b, i, rest))
			}
		}()
		for i := 0; i < b.Len(); {
			h, instead, ok := d.claim(ctx, b.At(i))
			if !ok {
				b.Skip(i, instead)
				continue
			}
			hs = append(hs, h)
			i++
		}
		if b.Len() == 0 {
			return wherry.Ack()
		}
		return next(ctx, b)
	}
}

// claim says whether a message is to be handled, and if not, what becomes of it instead.
func (d *dedup) claim(ctx context.Context, m wherry.AnyMessage) (h held, instead wherry.Outcome, ok bool) {
	key := d.cfg.Key(m)
	if key == "" {
		return held{}, wherry.Reject(ErrNoKey), d.cfg.Unkeyed == HandleUnkeyed
	}
	h = held{
		key:   m.Topic() + "/" + scope(m) + "/" + key,
		owner: d.prefix + strconv.FormatUint(d.owners.Add(1), 36),
	}
	claim, err := d.store.Claim(ctx, h.key, h.owner, d.cfg.Lease)
	if err == nil && (claim < ClaimGranted || claim > ClaimDone) {
		err = fmt.Errorf("%w: %v", errNoClaim, claim)
	}
	switch {
	case err != nil:
		d.cfg.OnError(fmt.Errorf("middleware: dedup: claim: %w", err))
		return held{}, postponed(ctx, d.cfg.Again), d.cfg.HandleAnyway
	case claim == ClaimDone:
		return held{}, wherry.Ack(), false
	case claim == ClaimBusy:
		return held{}, wherry.Defer(d.cfg.Again), false
	default:
		return h, wherry.Outcome{}, true
	}
}

// scope is for whom a message is handled once: a group, or one reader of a broadcast. No group's name has a colon.
func scope(m wherry.AnyMessage) string {
	if r := m.Reader(); r != "" {
		return "reader:" + r
	}
	return m.Group()
}

// own is for what is told to the store of one handler call, of a batch too: a store that hangs holds up the lane once.
func own(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
}

// settle tells the store what became of a message.
func (d *dedup) settle(ctx context.Context, h held, o wherry.Outcome) {
	if h.key == "" {
		return
	}
	what := "release"
	var err error
	if o.Kind() == wherry.KindAck {
		what = "finish"
		err = d.store.Finish(ctx, h.key, h.owner, d.cfg.Keep)
	} else {
		err = d.store.Release(ctx, h.key, h.owner)
	}
	if err != nil {
		d.cfg.OnError(fmt.Errorf("middleware: dedup: %s: %w", what, err))
	}
}
