// Package ops is the operators' edge, on an address of its own: metrics,
// profiles, and the admin API, by which tasks, boards, results, queues of
// behaviours, bans and keys are looked after.
package ops

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"laststand/internal/eventq"
	"laststand/internal/taskqueue"
)

// Config is what the operators' handler is made of; all fields are needed.
type Config struct {
	Gatherer prometheus.Gatherer
	Registry prometheus.Registerer
	// Admin gives whom a bearer token of the role admin speaks for that is
	// signed by the server's own key, or an error for any other token.
	Admin       func(ctx context.Context, token string) (subject string, err error)
	Games       []string // sorted
	Tasks       Tasks
	Desk        taskqueue.TaskActions
	Boards      Boards
	Corrections Corrections
	Days        Days
	Queues      eventq.Desk
	Hooks       Hooks
	Acts        Acts
	Bars        Bars
	Keys        Keys
	// Drain has what is queued of a game leave now, and waits until it has:
	// eventq.ErrPaused, an error of the context.
	Drain  func(ctx context.Context, game string) error
	Now    func() int64     // cluster time, epoch ms
	Down   func(error) bool // an error is a store's condition, not a defect
	Logger *slog.Logger
}

type api struct {
	Config
	acts *prometheus.CounterVec // by outcome
}

func newAPI(c Config) *api { return &api{c, newActs(c.Registry)} }

// New makes the operators' handler: /metrics, open to whoever reaches the
// address; /debug/pprof/ and /admin/v1/ for the role admin.
func New(c Config) http.Handler { return newAPI(c).handler() }

func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.Gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.Handle("/debug/pprof/", a.serve(a.getProfiles))
	mux.Handle("/debug/pprof/{profile}", a.serve(a.getProfile))
	for _, rt := range a.routes() {
		mux.Handle(rt.method+" "+rt.path, a.serve(a.operation(rt)))
	}
	mux.Handle("/admin/", a.serve(nothing))
	return mux
}
