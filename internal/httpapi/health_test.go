package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/protocol"
)

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

func TestReadinessReportsFailedChecks(t *testing.T) {
	t.Parallel()
	succeed := func(context.Context) error { return nil }
	fail := func(context.Context) error { return errors.New("a secret") }
	tests := []struct {
		name     string
		redis    func(context.Context) error
		draining bool
		status   int
		want     string
	}{
		{"ready", succeed, false, 200, `{"status":"ready","checks":{"database":"ok","redis":"ok"}}`},
		{"failing", fail, false, 503, `{"status":"unavailable","checks":{"database":"ok","redis":"failed"}}`},
		{"draining", succeed, true, 503, `{"status":"draining","checks":{"database":"ok","redis":"ok"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newTestConfig(&fakeBackend{})
			c.ReadinessChecks = map[string]func(context.Context) error{"database": succeed, "redis": tt.redis}
			c.IsDraining = func() bool { return tt.draining }
			rec := serve(t, New(c), getCall("/readyz"))
			if rec.Code != tt.status || strings.TrimSpace(rec.Body.String()) != tt.want {
				t.Errorf("%d %s; want %d %s", rec.Code, rec.Body, tt.status, tt.want)
			}
			if retry := rec.Header().Get("Retry-After"); (tt.status == 503) != (retry == "2") {
				t.Errorf("Retry-After %q", retry)
			}
		})
	}
}

// Concurrent requests share one run of the readiness checks.
func TestConcurrentReadinessRequestsShareOneRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestConfig(&fakeBackend{})
		runs, release := 0, make(chan struct{})
		c.ReadinessChecks = map[string]func(context.Context) error{"redis": func(context.Context) error {
			runs++ // checks do not run at the same time
			<-release
			return nil
		}}
		h := New(c)
		var requests sync.WaitGroup
		for range 20 {
			requests.Go(func() {
				if rec := serve(t, h, getCall("/readyz")); rec.Code != http.StatusOK {
					t.Errorf("%d %s", rec.Code, rec.Body)
				}
			})
		}
		synctest.Wait()
		close(release)
		requests.Wait()
		if serve(t, h, getCall("/readyz")); runs != 2 {
			t.Errorf("the check ran %d times, want once for 20 requests and once for the last", runs)
		}
	})
}

func TestASlowCheckFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newTestConfig(&fakeBackend{})
		c.ReadinessChecks = map[string]func(context.Context) error{"slow": func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		startedAt := time.Now()
		rec := serve(t, New(c), getCall("/readyz"))
		if rec.Code != 503 || !strings.Contains(rec.Body.String(), `"slow":"failed"`) || time.Since(startedAt) != readinessTimeout {
			t.Errorf("%d %s after %v", rec.Code, rec.Body, time.Since(startedAt))
		}
	})
}

func TestADrainingNodeRefusesNewGuestsAndArenas(t *testing.T) {
	t.Parallel()
	backend := &fakeBackend{}
	c := newTestConfig(backend)
	c.IsDraining = func() bool { return true }
	h := New(c)
	for _, c := range []call{
		jsonCall("POST", demoPath+"/guests", `{"device":"`+device+`"}`), jsonCall("POST", demoPath+"/arenas", newArenaJSON, bearerGood),
	} {
		rec := serve(t, h, c)
		if p := decodeProblem(t, rec.Body.Bytes()); rec.Code != 503 || p.Code != protocol.CodeUnavailable || rec.Header().Get("Retry-After") == "" {
			t.Errorf("%s: %d %s", c.target, rec.Code, rec.Body)
		}
	}
	if backend.guest.Device != "" || backend.arena.Game != "" {
		t.Errorf("the services were asked for %+v, %+v", backend.guest, backend.arena)
	}
	if rec := serve(t, h, getCall(demoPath+"/arenas/402951")); rec.Code != 200 {
		t.Errorf("an arena: %d %s", rec.Code, rec.Body)
	}
	if rec := serve(t, h, getCall("/healthz")); rec.Code != 200 {
		t.Errorf("health: %d %s", rec.Code, rec.Body)
	}
}

func TestMetricLabelsAreClosedSets(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	c := newTestConfig(&fakeBackend{})
	c.Registry = registry
	handler := New(c)
	for _, c := range []call{
		getCall(demoPath + "/players/p_1"), getCall(demoPath + "/players/p_9"), getCall("/v1/nothing/7"),
		jsonCall("BREW", demoPath+"/players/p_1", ""), getCall("/v1/games/nowhere/players/p_1"),
	} {
		serve(t, handler, c)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		if f.GetName() != "laststand_http_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			got = append(got, strings.Join(labels, " "))
		}
	}
	want := []string{ // code, method, route
		"200 GET /v1/games/{game}/players/{player}",
		"404 GET /v1/games/{game}/players/{player}",
		"404 GET none",
		"405 other /v1/games/{game}/players/{player}",
	}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTheWebsocketGetsTheRawConnection(t *testing.T) {
	t.Parallel()
	c := newTestConfig(&fakeBackend{})
	var received http.ResponseWriter
	c.Websocket = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { received = w })
	rec := newRecorder()
	New(c).ServeHTTP(rec, getCall("/v1/ws?any=thing").request(t))
	if received != http.ResponseWriter(rec) {
		t.Errorf("the websocket handler got a %T", received)
	}
}
