package wherrytest

// StoryOf is what a failed expectation of a probe tells.
func StoryOf[T any](t *Test, p *TopicProbe[T]) string {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	return t.ledger.stories.tell(p.place())
}
