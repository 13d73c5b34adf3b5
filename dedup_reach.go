package wherry

// DedupReach is how far the marks reach by which a middleware tells duplicates. The zero DedupReach is no de-duplication.
type DedupReach uint8

const (
	// DedupNone is no de-duplication.
	DedupNone DedupReach = iota
	// DedupInProcess is marks that end with the process.
	DedupInProcess
	// DedupOutlives is marks that outlive the process and are set after the handler's effects, in an act of their own: who dies
	// in between handles the message again.
	DedupOutlives
	// DedupWithEffects is marks that outlive the process and commit with the handler's effects, in one transaction.
	DedupWithEffects
)

// UseDedup is [UseBoth] for middleware that tells duplicates, with what [Explain] is to say of it. The reach is the
// word of who wrote the middleware, which nobody can check: give [DedupWithEffects] only where neither the mark nor the effects
// can be there without the other. Of several on one consumer the strongest counts. A nil middleware is an error at start of a
// consumer of that shape, and [DedupNone] or an unknown reach of any.
//
// Of a consumer in transactions ([Transacted]) any reach but DedupWithEffects is an error at start: a mark that is set when the
// handler returned stays when the commit fails, so that what the handler published would be lost in silence. There what is
// published is one of the effects, and the mark has to be part of the broker's transaction, as a record that a [TxPublisher]
// publishes is. The messages of a broadcast come to each reader, so that its marks have to be told apart by
// [AnyMessage.Reader].
func UseDedup(reach DedupReach, m Middleware, b BatchMiddleware) ConsumerOption {
	return dedupOption{reach: reach, bothOption: bothOption{m: m, b: b}}
}

type dedupOption struct {
	bothOption
	reach DedupReach
}

func (o dedupOption) applyConsume(c *consumeSpec) {
	o.note(c)
	o.bothOption.applyConsume(c)
}

func (o dedupOption) applyBatch(c *consumeSpec) {
	o.note(c)
	o.bothOption.applyBatch(c)
}

func (o dedupOption) note(c *consumeSpec) {
	if o.reach == DedupNone || o.reach > DedupWithEffects {
		c.failf("the reach of the de-duplication is %d, want DedupInProcess, DedupOutlives or DedupWithEffects", o.reach)
		return
	}
	c.dedup = max(c.dedup, o.reach)
	c.dedupApart = c.dedupApart || o.reach < DedupWithEffects
}
