package ops

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"
	runtime "runtime/pprof"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"laststand/internal/eventq"
	"laststand/internal/httpserver"
	"laststand/internal/protocol"
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
	Health      http.Handler     // serves /healthz and /readyz
	Now         func() int64     // cluster time, epoch ms
	IsStoreDown func(error) bool // returns true if an error means that a store is unavailable
	Logger      *slog.Logger
}

type api struct {
	Config
	auditOutcomes *prometheus.CounterVec // audited requests, by outcome
}

// The groups of routes.
type (
	taskRoutes       struct{ *api }
	boardRoutes      struct{ *api } // leaderboards, results and days
	queueRoutes      struct{ *api } // of behaviours
	revocationRoutes struct{ *api } // and bans
	accessRoutes     struct{ *api } // players, and the keys that sign tokens
	webhookRoutes    struct{ *api }
	auditRoutes      struct{ *api } // also writes the audit log
)

func newAPI(config Config) *api { return &api{config, newAuditOutcomes(config.Registry)} }

// New returns the handler of the operators' listener. /metrics, /healthz and /readyz need no token;
// /debug/pprof/ and /admin/v1/ need an admin token.
func New(config Config) http.Handler { return newAPI(config).newMux() }

func (a *api) newMux() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.Gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.Handle("/debug/pprof/", a.requireAdmin(getProfiles))
	mux.Handle("/debug/pprof/{profile}", a.requireAdmin(auditRoutes{a}.getProfile))
	mux.Handle("GET /healthz", a.Health)
	mux.Handle("GET /readyz", a.Health)
	for _, route := range a.routes() {
		mux.Handle(route.Method+" "+route.Path, a.requireAdmin(a.operationHandler(route)))
	}
	mux.Handle("/admin/", a.requireAdmin(notFound))
	return mux
}

// Operations lists the whole admin API, for the reference.
func Operations() []Operation { return new(api).routes() }

func (a *api) routes() []Operation {
	return slices.Concat(
		taskRoutes{a}.routes(), boardRoutes{a}.routes(), queueRoutes{a}.routes(), auditRoutes{a}.routes(),
		revocationRoutes{a}.routes(), accessRoutes{a}.routes(), webhookRoutes{a}.routes(),
	)
}

// operationHandler returns a handler that parses the query of a route and then calls the
// route's handler. Requests of an audited route are written to the audit log.
func (a *api) operationHandler(route Operation) handler {
	return func(r *request) (response any, err error) {
		if r.query, err = protocol.ReadQuery(r.URL, route.Query); err != nil {
			return nil, err
		}
		if r.limit, err = httpserver.ReadLimit(r.query, 50, 200); err != nil {
			return nil, err
		}
		if route.IsAudited() {
			return auditRoutes{a}.handle(route, r)
		}
		return route.handle(r)
	}
}

// requireAdmin returns a handler that refuses requests without a valid admin token. It logs
// failures of the server.
func (a *api) requireAdmin(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		response, err := a.authenticateAndHandle(w, r, handle)
		if err == nil {
			httpserver.Respond(w, response)
			return
		}
		problem := problemFor(err, a.IsStoreDown)
		if problem.Status >= http.StatusInternalServerError {
			a.Logger.WarnContext(r.Context(), "admin request failed", "method", r.Method, "path", r.URL.Path, "error", err)
		}
		httpserver.WriteProblem(w, problem)
	})
}

func (a *api) authenticateAndHandle(w http.ResponseWriter, r *http.Request, handle handler) (response any, err error) {
	actor, err := a.adminSubject(r)
	if err != nil {
		return nil, err
	}
	game := r.PathValue("game")
	if game != "" && !slices.Contains(a.Games, game) {
		return nil, protocol.Errorf(protocol.CodeNotFound, "game %q is not configured; there are: %s", game, strings.Join(a.Games, ", "))
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	return handle(&request{Request: r, ctx: ctx, w: w, actor: actor, game: game})
}

func (a *api) adminSubject(r *http.Request) (string, error) {
	if token, ok := httpserver.BearerToken(r); ok {
		subject, err := a.VerifyAdmin(r.Context(), token)
		if err == nil || a.IsStoreDown(err) {
			return subject, err
		}
	}
	return "", protocol.Errorf(protocol.CodeUnauthorized, "an admin token signed with the server's own key is required; see `server token --help`")
}

// extraProfiles are the profiles that runtime/pprof does not know by name. The command
// line is left out, because it may contain passwords.
var extraProfiles = map[string]http.HandlerFunc{"profile": pprof.Profile, "symbol": pprof.Symbol, "trace": pprof.Trace}

func getProfiles(r *request) (any, error) {
	if r.URL.Path != "/debug/pprof/" {
		return notFound(r)
	}
	pprof.Index(r.w, r.Request)
	return httpserver.Written(http.StatusOK), nil
}

// getProfile writes a profile. The audit log gets an entry of the request.
func (h auditRoutes) getProfile(r *request) (any, error) {
	name := r.PathValue("profile")
	handle := extraProfiles[name]
	if handle == nil && runtime.Lookup(name) != nil {
		handle = pprof.Index
	}
	if handle == nil || r.Method != http.MethodGet && r.Method != http.MethodPost {
		return notFound(r)
	}
	route := Operation{Method: r.Method, Path: "/debug/pprof/{profile}", isSensitive: true, handle: func(r *request) (any, error) {
		recorder := &httpserver.StatusWriter{ResponseWriter: r.w}
		handle(recorder, r.Request)
		return httpserver.Written(cmp.Or(recorder.Status, http.StatusOK)), nil
	}}
	return h.handle(route, r)
}
