package health_test

import (
	"context"
	"encoding/json"
	"errors"
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

var jobs = wherry.NewTopic("jobs", codec.Text{})

// ask asks a handler and returns its status and report.
func ask(t *testing.T, h http.Handler, path string) (int, health.Report) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	var r health.Report
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil {
		t.Fatalf("%v in %q", err, w.Body)
	}
	return w.Code, r
}

// A service is a consumer whose handler waits while it is told to.
type service struct {
	*wherry.Consumer
	test   *wherrytest.Test
	probe  *wherrytest.TopicProbe[string]
	broker *mem.Broker
	gate   chan struct{}
}

func newService(t *testing.T, opts ...wherry.ConsumeOption) *service {
	t.Helper()
	s := &service{broker: mem.New(mem.Config{}), gate: make(chan struct{})}
	t.Cleanup(func() { s.broker.Close(context.WithoutCancel(t.Context())) })
	s.test = wherrytest.New(t, wherrytest.OnBroker(s.broker))
	s.probe = wherrytest.Probe(s.test, jobs)
	s.Consumer = wherry.Consume(wherry.Queue(s.test.Broker(), jobs),
		func(_ context.Context, m *wherry.Message[string]) wherry.Outcome {
			switch m.Value {
			case "wait":
				<-s.gate
			case "bad":
				return wherry.Reject(errors.New("the card of a customer"))
			}
			return wherry.Ack()
		}, append(opts, wherry.Name("worker"))...)
	return s
}

func TestEachStateHasItsAnswer(t *testing.T) {
	t.Parallel()
	const (
		ok   = http.StatusOK
		away = http.StatusServiceUnavailable
	)
	cases := []struct {
		name        string
		state       wherry.State
		bring       func(s *service) (end func()) // brings the consumer into the state
		ready, live int
		cause       string
	}{
		{"not run yet", wherry.StateIdle, func(*service) func() { return nil }, away, ok, ""},
		{"running", wherry.StateRunning, func(s *service) func() {
			s.test.Run(s)
			return nil
		}, ok, ok, ""},
		{"paused", wherry.StatePaused, func(s *service) func() {
			s.test.Run(s)
			return s.Pause("month's end")
		}, ok, ok, "month's end"},
		{"broker away", wherry.StateAway, func(s *service) func() {
			s.test.Run(s)
			s.broker.Faults().Disconnect(mem.HardCut)
			synctest.Wait()
			return s.broker.Faults().Clear
		}, away, ok, "the broker does not answer"},
		{"stalled", wherry.StateStalled, func(s *service) func() {
			s.test.Run(s)
			s.probe.PublishWith("wait", wherry.WithID("m-1"))
			time.Sleep(time.Minute)
			return func() {
				close(s.gate)
				s.test.Quiesce()
			}
		}, away, ok, "handler blocked for 3"},
		{"draining", wherry.StateDraining, func(s *service) func() {
			s.test.Run(s)
			s.probe.Publish("wait")
			synctest.Wait()
			stopped := make(chan error)
			go func() { stopped <- s.test.Stop() }()
			synctest.Wait()
			return func() {
				close(s.gate)
				<-stopped
			}
		}, away, ok, ""},
		{"stopped", wherry.StateStopped, func(s *service) func() {
			s.test.Run(s)
			s.test.Stop()
			return nil
		}, away, ok, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newService(t, wherry.NoHandlerTimeout())
				if end := c.bring(s); end != nil {
					defer end()
				}
				h := health.Of(s.Consumer).Handler()
				code, r := ask(t, h, "/ready")
				assert.Equal(t, code, c.ready)
				assert.Equal(t, r.Status, map[int]string{ok: "ready", away: "not ready"}[c.ready])
				assert.Equal(t, len(r.Consumers), 1)
				one := r.Consumers[0]
				assert.Equal(t, one.State, c.state)
				assert.Equal(t, one.Ready, c.ready == ok)
				assert.Equal(t, one.Consumer, "worker")
				assert.Equal(t, one.Topic, "jobs")
				assert.Equal(t, one.Since == nil, c.state == wherry.StateIdle)
				if !strings.HasPrefix(one.Cause, c.cause) || c.cause == "" && one.Cause != "" {
					t.Errorf("got cause %q, want %q", one.Cause, c.cause)
				}
				assert.Equal(t, one.Error, "")
				code, r = ask(t, h, "/live")
				assert.Equal(t, code, c.live)
				assert.Equal(t, r.Status, "live")
			})
		})
	}
}

// Promise 7: progress or a reason, within the stated bound and two looks of the watchdog.
func TestABlockedHandlerFailsReadinessAndRecovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		ready := health.Of(s.Consumer).Ready()
		s.test.Run(s)
		s.probe.PublishWith("wait", wherry.WithID("m-1"))
		for range 29 {
			time.Sleep(time.Second)
			code, _ := ask(t, ready, "/")
			assert.Equal(t, code, http.StatusOK)
		}
		time.Sleep(3 * time.Second)
		code, r := ask(t, ready, "/")
		assert.Equal(t, code, http.StatusServiceUnavailable)
		one := r.Consumers[0]
		assert.Equal(t, one.State, wherry.StateStalled)
		assert.True(t, strings.HasPrefix(one.Cause, "handler blocked for 3") && strings.HasSuffix(one.Cause, "on message m-1"),
			"the cause does not name the handler's message: "+one.Cause)
		assert.Equal(t, one.InFlight, 1)

		close(s.gate)
		s.test.Quiesce()
		time.Sleep(2 * time.Second) // the watchdog's next look
		code, r = ask(t, ready, "/")
		assert.Equal(t, code, http.StatusOK)
		assert.Equal(t, r.Consumers[0].Cause, "")
		assert.Equal(t, r.Consumers[0].Handled, uint64(1))
	})
}

func TestLivenessFailsOnAStallByOption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, wherry.StallAfter(10*time.Second))
		set := health.Of(s.Consumer)
		plain, limited := set.Live(), set.Live(health.StallLimit(5*time.Minute))
		s.test.Run(s)
		s.probe.Publish("wait")
		answers := func(want int, after time.Duration) {
			t.Helper()
			time.Sleep(after)
			code, _ := ask(t, limited, "/")
			assert.Equal(t, code, want)
			code, _ = ask(t, plain, "/")
			assert.Equal(t, code, http.StatusOK)
		}
		answers(http.StatusOK, 4*time.Minute)
		answers(http.StatusServiceUnavailable, 2*time.Minute)
		code, r := ask(t, limited, "/")
		assert.Equal(t, code, http.StatusServiceUnavailable)
		assert.Equal(t, r.Status, "not live")
		close(s.gate)
		s.test.Quiesce()
		answers(http.StatusOK, 2*time.Second)
	})
}

// What errors say may name hosts and people, so it is shown by option only, and what handlers say never is.
func TestTextsOfErrorsAreShownByOption(t *testing.T) {
	t.Parallel()
	secret := errors.New("10.0.0.7:5672 refused")
	synctest.Test(t, func(t *testing.T) {
		s := newService(t)
		s.broker.Faults().FailSend("jobs.dlq", -1, secret)
		s.test.Run(s)
		s.probe.Publish("bad")
		synctest.Wait()
		set := health.Of(s.Consumer)
		body := func(opts ...health.Option) string {
			w := httptest.NewRecorder()
			set.Ready(opts...).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody))
			return w.Body.String()
		}
		plain, shown := body(), body(health.ShowErrors())
		assert.True(t, strings.Contains(plain, "cannot publish to jobs.dlq: 1 kept"), "no cause in "+plain)
		assert.True(t, !strings.Contains(plain, "10.0.0.7"), "the error is in "+plain)
		assert.True(t, strings.Contains(shown, "10.0.0.7"), "no error in "+shown)
		assert.True(t, !strings.Contains(shown, "customer"), "a handler's error is in "+shown)

		time.Sleep(time.Minute) // what is kept is work that waits
		plain = body()
		assert.True(t, strings.Contains(plain, `"state":"stalled"`) && !strings.Contains(plain, "10.0.0.7"), plain)
		s.broker.Faults().Clear()
		s.test.Quiesce()
		s.probe.ExpectDead(1)
		s.broker.Faults().Disconnect(mem.HardCut)
		synctest.Wait()
		assert.True(t, strings.Contains(body(health.ShowErrors()), `"error":`), "no error while the broker is away")
		assert.True(t, !strings.Contains(body(), `"error":`), "an error while the broker is away")
		s.broker.Faults().Clear()
	})
}
