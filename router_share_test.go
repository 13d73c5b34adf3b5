package wherry

import (
	"reflect"
	"testing"
)

// Whatever an option can set can be shared: a field that under forgets would be ignored in silence.
func TestRouterSharesEveryField(t *testing.T) {
	t.Parallel()
	own := map[string]bool{"name": true, "errs": true} // a consumer's own, and the router's to report
	typ := reflect.TypeFor[consumeSpec]()
	var fields func(typ reflect.Type) []reflect.StructField
	fields = func(typ reflect.Type) (all []reflect.StructField) {
		for f := range typ.Fields() {
			if f.Anonymous {
				all = append(all, fields(f.Type)...)
			} else {
				all = append(all, f)
			}
		}
		return all
	}
	c := consumeSpec{}
	for _, o := range []ConsumeOption{
		RetryWith(RetryPolicy{}), DeadLetterTo("d"), BodyLimit(1), HeaderLimit(1), Workers(2), WorkersBetween(1, 2), Concurrency(2), Prefetch(2),
		HandlerTimeout(1), MaxDelivered(1), DrainTime(1), GraceTime(1), StallAfter(1), ExactTime(), OnEvent(func(Event) {}),
		Use(func(n Next) Next { return n }), UseDedup(DedupInProcess, func(n Next) Next { return n }, nil),
	} {
		o.applyConsume(&c)
	}
	for _, o := range []BatchOption{UseBatch(func(n BatchNext) BatchNext { return n }), BatchSize(1), BatchBytes(1), BatchAge(1)} {
		o.applyBatch(&c)
	}
	none := consumeSpec{}
	NoDeadLetters().applyConsume(&none)
	for _, shared := range []*consumeSpec{&c, &none} {
		got := reflect.ValueOf(consumeSpec{}.under(shared))
		for _, f := range fields(typ) {
			from := reflect.ValueOf(*shared).FieldByName(f.Name)
			switch to := got.FieldByName(f.Name); {
			case own[f.Name]:
			case from.IsZero() && shared == &c && f.Name != "noDeadLetters":
				t.Errorf("no option of this test sets %s: add one", f.Name)
			case from.IsZero() != to.IsZero():
				t.Errorf("%s is not shared: under forgets it", f.Name)
			}
		}
	}
}
