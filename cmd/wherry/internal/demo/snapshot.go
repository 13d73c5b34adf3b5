package demo

import (
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/cmd/wherry/internal/ledger"
)

// snapshot is what there is to see of the service at one moment.
type snapshot struct {
	Elapsed  time.Duration
	Duration time.Duration // of the whole run; 0 is unknown
	Phase    phase
	Totals   ledger.Totals
	Rate     float64 // of published orders, per second
	Groups   []groupView
	Reasons  []deadReason
	Others   int // dead letters that are in none of Reasons
	Sales    []sale
	Batches  int
	Notes    []note
}

// groupView is what there is to see of a group.
type groupView struct {
	ledger.GroupTotals
	Rate    float64 // of messages that it is done with, per second
	Latency Latency
	Health  wherry.Health
}

// A camera takes snapshots of a service. It remembers what rates need and is for one goroutine.
type camera struct {
	service   *service
	published rate
	ended     []rate // of each group
}

func newCamera(s *service) *camera {
	c := &camera{service: s, ended: make([]rate, len(groups()))}
	c.take()
	return c
}

func (c *camera) take() snapshot {
	s := c.service
	now := time.Now()
	shot := snapshot{Elapsed: now.Sub(s.events.begin), Duration: s.cfg.Duration, Phase: phase(s.phase.Load()), Totals: s.ledger.Totals()}
	shot.Rate = c.published.perSecond(now, shot.Totals.Published)
	consumers := []*wherry.Consumer{s.payment, s.stock, s.report}
	for i, g := range shot.Totals.Groups {
		shot.Groups = append(shot.Groups, groupView{
			GroupTotals: g,
			Rate:        c.ended[i].perSecond(now, g.Handled+g.Dead),
			Latency:     s.events.meters[g.Group].latency(),
			Health:      consumers[i].Health(),
		})
	}
	shot.Reasons, shot.Others = s.dead.list()
	shot.Sales, shot.Batches = s.sales.top()
	shot.Notes, _ = s.events.since(0)
	return shot
}

// unready returns the groups that are not ready while they should be.
func (s *snapshot) unready() []groupView {
	if s.Phase != publishing {
		return nil
	}
	var views []groupView
	for _, g := range s.Groups {
		if !g.Health.Ready {
			views = append(views, g)
		}
	}
	return views
}
