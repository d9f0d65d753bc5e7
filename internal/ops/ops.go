// Package ops is the operators' edge: metrics and profiles on an address of
// their own.
package ops

import (
	"context"
	"net/http"
	"net/http/pprof"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Config is what the operators' handler is made of; all fields are needed.
type Config struct {
	Gatherer prometheus.Gatherer
	// Admin says whether a bearer token is one of the role admin, signed by the
	// server's own key: nil where it is.
	Admin func(ctx context.Context, token string) error
}

// New makes the operators' handler: /metrics, open to whoever reaches the
// address, and /debug/pprof/, for the role admin.
func New(c Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(c.Gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	profiles := http.NewServeMux()
	profiles.HandleFunc("/debug/pprof/", pprof.Index)
	profiles.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	profiles.HandleFunc("/debug/pprof/profile", pprof.Profile)
	profiles.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	profiles.HandleFunc("/debug/pprof/trace", pprof.Trace)
	mux.Handle("/debug/pprof/", admin(c.Admin, profiles))
	return mux
}

// admin lets a request through that bears an admin token.
func admin(check func(context.Context, string) error, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok || check(r.Context(), token) != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "this needs a token of the role admin: see `server token --help`", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}
