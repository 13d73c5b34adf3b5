package health_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
	"github.com/wherryhq/wherry/health"
	"github.com/wherryhq/wherry/internal/assert"
	"github.com/wherryhq/wherry/mem"
	"github.com/wherryhq/wherry/wherrytest"
)

// replicas asks and returns status and report.
func replicas(t *testing.T, h http.Handler) (int, health.ReplicaReport) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
	var r health.ReplicaReport
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatalf("%v in %q", err, w.Body)
	}
	return w.Code, r
}

// slow is a consumer that handles ten messages a second.
func slow(t *testing.T, tt *wherrytest.Test, name string) (*wherry.Consumer, *wherrytest.TopicProbe[string]) {
	t.Helper()
	topic := wherry.NewTopic(name, codec.Text{})
	c := wherry.Consume(wherry.Queue(tt.Broker(), topic), func(context.Context, *wherry.Message[string]) wherry.Outcome {
		time.Sleep(100 * time.Millisecond)
		return wherry.Ack()
	}, wherry.Prefetch(1))
	return c, wherrytest.Probe(tt, topic)
}

func fill(p *wherrytest.TopicProbe[string], n int) {
	for range n {
		p.Publish("work")
	}
}

// The seconds to drain are the backlog by the rate, and the replicas as many as bring them within the time.
func TestReplicasAreBacklogByRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		tt := wherrytest.New(t, wherrytest.OnBroker(b), wherrytest.Patience(time.Hour))
		one, p1 := slow(t, tt, "one")
		two, p2 := slow(t, tt, "two")
		set := health.Of(one, two)
		h := set.Replicas(health.ReplicaConfig{})
		tt.Run(one, two)
		time.Sleep(10 * time.Second)
		code, r := replicas(t, h)
		assert.Equal(t, code, http.StatusOK)
		assert.Equal(t, *r.DesiredReplicas, 1) // nothing waits
		assert.Equal(t, *r.SecondsToDrain, 0)

		// What returns at the instant of a look counts before it or after it: the numbers are right within one message in
		// the seconds that were looked at, so that none that is asserted is near a bound.
		fill(p1, 5250)
		fill(p2, 200)
		time.Sleep(15 * time.Second)
		code, r = replicas(t, h)
		assert.Equal(t, code, http.StatusOK)
		if s := *r.SecondsToDrain; s < 485 || s > 535 {
			t.Errorf("%v s to drain, want about 510: 525 s of work began 15 s ago", s)
		}
		assert.Equal(t, *r.DesiredReplicas, 9)
		assert.Equal(t, len(r.Consumers), 2)
		assert.Equal(t, *r.Consumers[0].DesiredReplicas, 9)
		assert.Equal(t, *r.Consumers[1].DesiredReplicas, 1)
		assert.True(t, r.Consumers[1].Rate > 9 && r.Consumers[1].Rate < 11, "not ten a second")

		_, r = replicas(t, set.Replicas(health.ReplicaConfig{Within: 10 * time.Second, Min: 2, Max: 40}))
		assert.Equal(t, *r.DesiredReplicas, 40)
		assert.Equal(t, *r.Consumers[1].DesiredReplicas, 2)
		tt.Quiesce()
		assert.NoError(t, tt.Stop())
	})
}

// What is not known is no number, and an autoscaler changes nothing.
func TestReplicasThatAreNotKnown(t *testing.T) {
	t.Parallel()
	unknown := func(t *testing.T, s health.Set, want string) {
		t.Helper()
		code, r := replicas(t, s.Replicas(health.ReplicaConfig{}))
		assert.Equal(t, code, http.StatusServiceUnavailable)
		assert.True(t, r.DesiredReplicas == nil && r.SecondsToDrain == nil, "there is a number")
		if want != "" {
			assert.Equal(t, r.Consumers[0].Unknown, want)
		}
	}
	unknown(t, health.Of(), "")
	unknown(t, health.Of(nil), "the consumer is idle")
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, wherry.NoHandlerTimeout())
		other, _ := slow(t, s.test, "others")
		set := health.Of(s.Consumer, other) // one of which knows
		unknown(t, set, "the consumer is idle")
		s.test.Run(s, other)
		unknown(t, set, "the broker does not say what waits") // nobody looked yet
		for range 300 {
			s.probe.Publish("wait")
		}
		time.Sleep(10 * time.Second)
		unknown(t, set, "nothing was handled yet while work waited")
		time.Sleep(time.Minute)
		unknown(t, set, "the consumer is stalled")
		resume := s.Pause("a rest")
		close(s.gate)
		time.Sleep(10 * time.Second)
		unknown(t, set, "the consumer is paused")
		resume()
		s.broker.Faults().Disconnect(mem.HardCut)
		synctest.Wait()
		unknown(t, set, "the consumer is broker away")
		s.broker.Faults().Clear()
		time.Sleep(10 * time.Second)
		s.test.Quiesce()
		s.test.Stop()
		unknown(t, set, "the consumer is stopped")
	})
}

func TestReplicaMistakes(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]health.ReplicaConfig{
		"Within is -1s, want more than 0":      {Within: -time.Second},
		"Min is -1, want at least 1":           {Min: -1},
		"Max is 2, want 0 or at least Min":     {Min: 3, Max: 2},
		"Max is -1, want 0 or at least Min":    {Max: -1},
		"health: replicas: Within is -1s, wan": {Within: -1 * time.Second, Min: -1},
	} {
		w := httptest.NewRecorder()
		health.Of().Replicas(c).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
		assert.Equal(t, w.Code, http.StatusInternalServerError)
		assert.True(t, strings.Contains(w.Body.String(), want), w.Body.String())
	}
	w := httptest.NewRecorder()
	health.Of().Replicas(health.ReplicaConfig{}).ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody))
	assert.Equal(t, w.Code, http.StatusMethodNotAllowed)
}

// Health shows how many workers there are, may be, and why they are so many.
func TestReportsShowWorkers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		tt := wherrytest.New(t, wherrytest.OnBroker(b), wherrytest.Patience(time.Hour))
		topic := wherry.NewTopic("jobs", codec.Text{})
		c := wherry.Consume(wherry.Queue(tt.Broker(), topic), func(context.Context, *wherry.Message[string]) wherry.Outcome {
			time.Sleep(100 * time.Millisecond)
			return wherry.Ack()
		}, wherry.Prefetch(10), wherry.WorkersBetween(1, 4))
		began := time.Now()
		tt.Run(c)
		fill(wherrytest.Probe(tt, topic), 1000)
		time.Sleep(16 * time.Second)
		_, r := ask(t, health.Of(c).Ready(), "/")
		one := r.Consumers[0]
		assert.Equal(t, one.Workers, 2)
		assert.Equal(t, one.MinWorkers, 1)
		assert.Equal(t, one.MaxWorkers, 4)
		assert.True(t, one.Rate > 9 && one.Rate < 12, "not ten a second")
		assert.True(t, one.Scaled.At.Sub(began) == 15*time.Second, one.Scaled.At.String())
		assert.Equal(t, one.Scaled.From, 1)
		assert.Equal(t, one.Scaled.To, 2)
		assert.True(t, strings.Contains(one.Scaled.Why, "ready, 1 worker for 10, the oldest for 1"), one.Scaled.Why)
		tt.Quiesce()
		assert.NoError(t, tt.Stop())
		_, r = ask(t, health.Of(c).Ready(), "/")
		assert.Equal(t, r.Consumers[0].Workers, 0)
	})
}
