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

// Config configures the handler; all fields are required.
type Config struct {
	Gatherer prometheus.Gatherer
	Registry prometheus.Registerer
	// VerifyAdmin returns the subject of a valid admin token, which the server's own key
	// has signed. It returns an error for any other token.
	Admin        func(ctx context.Context, token string) (subject string, err error)
	Games        []string // sorted
	Tasks        Tasks
	Desk         taskqueue.TaskActions
	Leaderboards Leaderboards
	Corrections  Corrections
	Days         Days
	Queues       eventq.Admin
	Hooks        Hooks
	Audit        Audit
	Revocations  Revocations
	Players      Players
	Keys         Keys
	// SendQueued sends the queued behaviours of a game now and waits until the queue is
	// empty. It can return eventq.ErrPaused and the error of the context.
	Drain  func(ctx context.Context, game string) error
	Now    func() int64     // cluster time, epoch ms
	Down   func(error) bool // returns true if an error means that a store is unavailable
	Logger *slog.Logger
}

type api struct {
	Config
	audits *prometheus.CounterVec // audited requests, by outcome
}

func newAPI(c Config) *api { return &api{c, newAuditCounter(c.Registry)} }

// New returns the handler of the operators' listener. /metrics needs no token;
// /debug/pprof/ and /admin/v1/ need an admin token.
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
