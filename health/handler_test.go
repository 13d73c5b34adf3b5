package health_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
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

func TestOnlyQuestionsAreAnswered(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.test.Run(s)
	h := health.Of(s.Consumer).Handler()
	cases := []struct {
		method, path string
		code         int
		contentType  string
		body         bool
	}{
		{http.MethodGet, "/ready", http.StatusOK, "application/json", true},
		{http.MethodHead, "/ready", http.StatusOK, "application/json", false},
		{http.MethodGet, "/live", http.StatusOK, "application/json", true},
		{http.MethodHead, "/live", http.StatusOK, "application/json", false},
		{http.MethodPost, "/ready", http.StatusMethodNotAllowed, "text/plain; charset=utf-8", true},
		{http.MethodDelete, "/live", http.StatusMethodNotAllowed, "text/plain; charset=utf-8", true},
		{http.MethodOptions, "/live", http.StatusMethodNotAllowed, "text/plain; charset=utf-8", true},
		{http.MethodGet, "/", http.StatusNotFound, "text/plain; charset=utf-8", true},
		{http.MethodGet, "/ready/", http.StatusNotFound, "text/plain; charset=utf-8", true},
	}
	for _, c := range cases {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, http.NoBody))
		if w.Code != c.code || w.Header().Get("Content-Type") != c.contentType || (w.Body.Len() > 0) != c.body {
			t.Errorf("%s %s: %d, %q, %d bytes of body", c.method, c.path, w.Code, w.Header().Get("Content-Type"), w.Body.Len())
		}
		if c.code == http.StatusMethodNotAllowed {
			assert.Equal(t, w.Header().Get("Allow"), "GET, HEAD")
		}
		if c.code == http.StatusOK {
			assert.Equal(t, w.Header().Get("Cache-Control"), "no-store")
			if n, err := strconv.Atoi(w.Header().Get("Content-Length")); err != nil || c.body && n != w.Body.Len() || n == 0 {
				t.Errorf("%s %s: content length %d, body %d", c.method, c.path, n, w.Body.Len())
			}
		}
	}
}

func TestOneThatIsNotReadyIsEnough(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.test.Run(s)
	idle := wherry.Consume(wherry.Queue(s.test.Broker(), wherry.NewTopic("others", codec.Text{})),
		wherrytest.Record[string](nil).Handle)
	code, r := ask(t, health.Of(s.Consumer, idle).Ready(), "/")
	assert.Equal(t, code, http.StatusServiceUnavailable)
	assert.Equal(t, r.Consumers[0].Ready, true)
	assert.Equal(t, r.Consumers[1].Ready, false)
	assert.Equal(t, r.Consumers[1].State, wherry.StateIdle)
}

func TestMistakesAreNotReady(t *testing.T) {
	t.Parallel()
	code, r := ask(t, health.Of().Ready(), "/")
	assert.Equal(t, code, http.StatusServiceUnavailable)
	assert.Equal(t, len(r.Consumers), 0)
	code, r = ask(t, health.Of(nil).Ready(), "/")
	assert.Equal(t, code, http.StatusServiceUnavailable)
	assert.Equal(t, r.Consumers[0].Cause, "the consumer is nil")
	code, _ = ask(t, health.Of(nil).Live(health.StallLimit(0)), "/")
	assert.Equal(t, code, http.StatusOK)
}

func TestReportsSayHowMuchWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		group := wherry.NewTopic("events", codec.Text{}, wherry.Fanout("audit"))
		b := mem.New(mem.Config{})
		defer b.Close(t.Context())
		tt := wherrytest.New(t, wherrytest.OnBroker(b))
		c := wherry.Consume(wherry.Group(tt.Broker(), "audit", group), wherrytest.Record[string](nil).Handle)
		ready := health.Of(c).Ready()
		_, r := ask(t, ready, "/")
		assert.True(t, r.Consumers[0].Backlog == nil, "a backlog before anybody looked")

		tt.Run(c)
		resume := c.Pause("a rest")
		wherrytest.Probe(tt, group).Publish("a", "b")
		time.Sleep(10 * time.Second)
		_, r = ask(t, ready, "/")
		one := r.Consumers[0]
		assert.Equal(t, one.Group, "audit")
		if one.Backlog == nil || *one.Backlog != 2 || one.OldestSeconds < 8 || one.OldestSeconds > 10 {
			t.Errorf("got %+v, want two messages of ten seconds", one)
		}
		resume()
		tt.Quiesce()
		assert.NoError(t, tt.Stop())
	})
}

func TestANilOptionIsAnswered(t *testing.T) {
	t.Parallel()
	s := newService(t)
	s.test.Run(s)
	h := health.Of(s.Consumer).Handler(health.ShowErrors(), nil)
	for _, path := range []string{"/ready", "/live"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, http.NoBody))
		assert.Equal(t, w.Code, http.StatusInternalServerError)
		assert.Equal(t, w.Body.String(), `{"error":"health: option 2 is nil"}`+"\n")
	}
}

// How many keys a sequence has set aside is told, so that somebody mends and redrives them.
func TestKeysThatAreSetAsideAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tt := wherrytest.New(t)
		steps := wherry.NewKeyedTopic("steps", codec.Text{}, func(dst []byte, v *string) []byte { return append(dst, *v...) })
		c := wherry.Consume(wherry.Sequence(tt.Broker(), steps, wherry.OnFailure(wherry.Park)),
			func(context.Context, *wherry.Message[string]) wherry.Outcome {
				return wherry.Reject(errors.New("no such account"))
			})
		tt.Run(c)
		wherrytest.Probe(tt, steps).Publish("a", "b", "a")
		tt.Quiesce()
		_, r := ask(t, health.Of(c).Ready(), "/")
		assert.Equal(t, r.Consumers[0].Aside, 2)
		assert.Equal(t, r.Consumers[0].Ready, true)
	})
}
