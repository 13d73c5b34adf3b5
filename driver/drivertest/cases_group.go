package drivertest

func groupCases() []Case {
	groups := []kind{groupKind, groupSequenceKind}
	return []Case{
		{
			Name:     "independent",
			Sentence: "Every group gets every record, whatever the others do with theirs.",
			kinds:    groups, Run: independentGroups,
		},
		{
			Name:     "target",
			Sentence: "A record sent to one group reaches that group alone, once, and no broadcast reader.",
			kinds:    groups, Run: groupTarget,
		},
		{
			Name:     "target-kept",
			Sentence: "A record sent to one declared group before its first member is kept for it.",
			kinds:    groups, Run: groupTargetKept,
		},
		{
			Name:     "release",
			Sentence: "A release in one group brings the message back to that group alone.",
			kinds:    []kind{groupKind}, Run: groupRelease,
		},
		{
			Name:     "close",
			Sentence: "What a member leaves unsettled goes to another member of its group, and to no other group.",
			kinds:    groups, Run: groupClose,
		},
	}
}

// pair returns one topic as two groups see it.
func (t *T) pair() (one, two *line) {
	one = t.line()
	one.topic.Groups = []string{"one", "two"}
	return one.of("one"), one.of("two")
}

func independentGroups(t *T) {
	one, two := t.pair()
	r1, r2 := one.receiver(), two.receiver()
	records := t.batch(30)
	one.send(records...)
	r1.done(r1.expect(records...)...)
	r1.close()
	r2.done(r2.expect(records...)...)
	r2.close()
	one.empty()
	two.empty()
}

func groupTarget(t *T) {
	one, two := t.pair()
	r1, r2 := one.receiver(), two.receiver()
	var reader *receiver
	if broadcastKind.can(one.b) {
		all := *one
		all.kind, all.group = broadcastKind, ""
		reader = all.receiver()
	}
	records := t.batch(10)
	one.toGroup().send(records...)
	ds := r1.expect(records...)
	r2.none()
	r1.done(ds...)
	r1.none()
	both := t.record()
	one.send(both)
	r1.done(r1.expect(both)...)
	r2.done(r2.expect(both)...)
	if reader != nil {
		reader.done(reader.expect(both)...)
		reader.none()
	}
}

func groupTargetKept(t *T) {
	one, two := t.pair()
	records := t.batch(10)
	s := one.toGroup()
	s.send(records...)
	s.close()
	r1, r2 := one.receiver(), two.receiver()
	r1.done(r1.expect(records...)...)
	r1.none()
	r2.none()
}

func groupRelease(t *T) {
	one, two := t.pair()
	r1, r2 := one.receiver(), two.receiver()
	rec := t.record()
	one.send(rec)
	r2.done(r2.expect(rec)...)
	for range 3 {
		r1.release(r1.expect(rec)...)
	}
	r2.none()
	r1.done(r1.expect(rec)...)
}

func groupClose(t *T) {
	one, two := t.pair()
	r1, r2 := one.receiver(), two.receiver()
	records := t.keyed("k", 5)
	one.send(records...)
	r1.expect(records...)
	ds := r2.expect(records...)
	r1.close()
	next := one.receiver()
	next.done(next.expect(records...)...)
	for _, d := range ds {
		if d.Delivered > 1 {
			t.Errorf("%s was delivered %d times to group two, which took it once", d.ID, d.Delivered)
		}
	}
	r2.done(ds...)
	r2.none()
}
