package ops

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"laststand/internal/eventq"
)

// Config configures the handler; all fields are required.
type Config struct {
	Gatherer prometheus.Gatherer
	Registry prometheus.Registerer
	// VerifyAdmin returns the subject of a valid admin token, which the server's own key
	// has signed. It returns an error for any other token.
	VerifyAdmin  func(ctx context.Context, token string) (subject string, err error)
	Games        []string // sorted
	Tasks        Tasks
	TaskActions  TaskActions
	Leaderboards Leaderboards
	Corrections  Corrections
	Days         Days
	Queues       eventq.Admin
	Webhooks     Webhooks
	Audit        Audit
	Revocations  Revocations
	Players      Players
	Keys         Keys
	// SendQueued sends the queued behaviours of a game now and waits until the queue is
	// empty. It can return eventq.ErrPaused and the error of the context.
	SendQueued  func(ctx context.Context, game string) error
	Now         func() int64     // cluster time, epoch ms
	IsStoreDown func(error) bool // returns true if an error means that a store is unavailable
	Logger      *slog.Logger
}

// api has the routes of the operators' listener.
type api struct {
	Config
	audits *prometheus.CounterVec // audited requests, by outcome
}

func newAPI(config Config) *api { return &api{config, newAuditCounter(config.Registry)} }

// New returns the handler of the operators' listener. /metrics needs no token;
// /debug/pprof/ and /admin/v1/ need an admin token.
func New(config Config) http.Handler { return newAPI(config).newMux() }

func (a *api) newMux() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.Gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.Handle("/debug/pprof/", a.requireAdmin(getProfiles))
	mux.Handle("/debug/pprof/{profile}", a.requireAdmin(a.getProfile))
	for _, route := range a.routes() {
		mux.Handle(route.method+" "+route.path, a.requireAdmin(a.operationHandler(route)))
	}
	mux.Handle("/admin/", a.requireAdmin(notFound))
	return mux
}
