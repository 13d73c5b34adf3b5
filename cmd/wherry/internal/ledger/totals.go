package ledger

// Totals are the sums of a ledger. They count messages by id, so a message counts once whatever the number of its groups
// and attempts:
//
//	Published = Handled + Dead + Open
//
// The zero Totals is that of a ledger without messages.
type Totals struct {
	// Published are the messages that the broker has confirmed, or that some group has seen.
	Published int
	// Handled are those that every group has handled.
	Handled int
	// Dead are those that every group is done with and at least one gave up.
	Dead int
	// Open are those that at least one group is not done with. When nothing is on its way any more, they are lost.
	Open int
	// Retried are those that some group tried more than once. Each is also one of the above.
	Retried int
	// Duplicated are those that some group was done with more than once. Each is also one of the above.
	Duplicated int
	// Unknown is how often something was noted of an id or a group that the ledger does not have.
	Unknown int
	// Groups has the sums of each group, in the order of [New].
	Groups []GroupTotals
}

// GroupTotals are the sums of one group, by the same rules. Those that it is not done with are Published less Handled and
// Dead.
type GroupTotals struct {
	Group      string
	Handled    int
	Dead       int
	Retried    int
	Duplicated int
}

// seen reports whether the message was published, as far as anybody can tell.
func seen(s state, es []entry) bool {
	if s == published {
		return true
	}
	for _, e := range es {
		if e != (entry{}) {
			return true
		}
	}
	return false
}

// count adds an account to the sums, or with sign -1 takes it away.
func (t *Totals) count(s state, es []entry, sign int) {
	if !seen(s, es) {
		return
	}
	var open, dead, retried, duplicated bool
	for i, e := range es {
		g := &t.Groups[i]
		switch {
		case e.dead > 0:
			g.Dead += sign
		case e.handled > 0:
			g.Handled += sign
		}
		if e.retried {
			g.Retried += sign
		}
		if e.ended() > 1 {
			g.Duplicated += sign
		}
		open = open || e.ended() == 0
		dead = dead || e.dead > 0
		retried = retried || e.retried
		duplicated = duplicated || e.ended() > 1
	}
	t.Published += sign
	switch {
	case open:
		t.Open += sign
	case dead:
		t.Dead += sign
	default:
		t.Handled += sign
	}
	if retried {
		t.Retried += sign
	}
	if duplicated {
		t.Duplicated += sign
	}
}
