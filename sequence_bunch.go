package wherry

// bunchLocked gives the lane, which has the first delivery of one key, those of more keys, if it may have more; see bunch.go.
// Each key has one in the bunch: what follows in a key is ready once that is settled. A lane of batches has none, and neither
// has the loop over a pulled source, which comes back for each message.
func (s *sequencer) bunchLocked(l *lane) {
	w, b := s.w, &l.bunch
	if s.first == nil || l.one == nil || w.linger > longestUnwoken || w.info.Lease > 0 {
		return
	}
	w.sampleLocked(l)
	most := min(w.pace.Share(s.ready, w.atOnce), bunchSize-1)
	if most == 0 {
		return
	}
	if b.keys == nil {
		b.keys = make([]*seqNode, bunchSize)
	}
	b.of[0], b.keys[0] = l.current, l.key
	n := 1
	for n <= most && s.first != nil && s.first.Value.shown == nil {
		key := s.takeKeyLocked()
		b.of[n], b.keys[n] = key.Value.head, key
		n++
	}
	if n == 1 {
		return
	}
	b.limit, b.size = uint64(n), uint64(n)
	b.begun.Store(1)
	w.bunched++
}

// recallLocked is recallLocked of the worker for the keys of a lane's bunch, of which the lane began so many.
func (s *sequencer) recallLocked(l *lane, begun int) {
	b := &l.bunch
	for i := int(b.size) - 1; i >= begun; i-- {
		s.unhandledLocked(b.keys[i])
	}
	l.key = b.keys[begun-1]
	for _, n := range b.keys[:begun-1] {
		s.nextLocked(n)
	}
}

// unhandledLocked puts a key back among the ready ones, as the first.
func (s *sequencer) unhandledLocked(n *seqNode) {
	n.Value.state, n.Value.after = keyReady, s.first
	s.first = n
	if s.last == nil {
		s.last = n
	}
	s.ready++
}
