package ops

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestMetricsAreOpenAndProfilesNeedAToken(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "laststand_seen_total", Help: "Seen."})
	registry.MustRegister(counter)
	c := newFakeBackend().config()
	c.Gatherer = registry
	handler := New(c)
	tests := []struct {
		name, path, auth string
		code             int
		body             string
	}{
		{"metrics are open", "/metrics", "", 200, "laststand_seen_total 0"},
		{"profiles without a token", "/debug/pprof/", "", 401, "admin"},
		{"profiles with another token", "/debug/pprof/", "Bearer player", 401, "admin"},
		{"a profile without a token", "/debug/pprof/heap", "", 401, "admin"},
		{"a profile with a token of another scheme", "/debug/pprof/heap", "Basic admin", 401, "admin"},
		{"profiles for an admin", "/debug/pprof/", "Bearer admin", 200, "goroutine"},
		{"a profile for an admin", "/debug/pprof/goroutine?debug=1", "Bearer admin", 200, "goroutine profile"},
		{"the command line for an admin", "/debug/pprof/cmdline", "Bearer admin", 404, "no such path or method"},
		{"liveness is open", "/healthz", "", 200, "/healthz"},
		{"readiness is open", "/readyz", "", 200, "/readyz"},
		{"nothing else", "/", "Bearer admin", 404, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequest(http.MethodGet, tt.path, nil)
			if tt.auth != "" {
				r.Header.Set("Authorization", tt.auth)
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != tt.code || !strings.Contains(w.Body.String(), tt.body) {
				t.Fatalf("GET %s = %d %q, want %d with %q", tt.path, w.Code, w.Body, tt.code, tt.body)
			}
		})
	}
}
