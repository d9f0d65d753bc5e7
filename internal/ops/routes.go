package ops

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"laststand/internal/httpserver"
	"laststand/internal/protocol"
)

// route is one operation of the admin API. query lists the allowed query parameters; the
// API refuses all others. A sensitive route reads data of players or of the process. The
// audit log gets an entry of it, as of a change.
type route struct {
	method, path string
	handle       handler
	query        []string
	sensitive    bool
	summary      string // one sentence for docs/reference/admin.md
}

func (rt route) isRead() bool { return rt.method == http.MethodGet || rt.sensitive }

func (rt route) isAudited() bool { return rt.method != http.MethodGet || rt.sensitive }

const (
	tasksPath = "/admin/v1/tasks"
	gamePath  = "/admin/v1/games/{game}"
)

// request is a request with a valid admin token. The game of its path exists; it is "" if
// the path has none. query has only the parameters that the route allows.
type request struct {
	*http.Request
	ctx   context.Context // of the request, with callTimeout
	w     http.ResponseWriter
	actor string // subject of the token
	game  string
	query url.Values

	body    []byte // JSON; only audited routes have one
	bodyErr error  // why the body is not JSON text; handlers without a body ignore it
}

// callTimeout is the time limit of a request, except a verification of leaderboards. In
// this time the database can process ten queued changes.
const callTimeout = 30 * time.Second

// handler carries out a request and returns the response; see httpserver.Respond.
type handler func(*request) (response any, err error)

// Operation is the description of an operation of the admin API, for the reference.
type Operation struct {
	Method, Path string
	Query        []string // parameters
	IsAudited    bool     // the audit log gets an entry of each request
	Summary      string
}

// Operations lists the whole admin API.
func Operations() []Operation {
	var list []Operation
	for _, route := range new(api).routes() {
		list = append(list, Operation{route.method, route.path, route.query, route.isAudited(), route.summary})
	}
	return list
}

func (a *api) routes() []route {
	return slices.Concat(
		taskRoutes{a}.routes(), boardRoutes{a}.routes(), queueRoutes{a}.routes(),
		auditRoutes{a}.routes(), accessRoutes{a}.routes(), webhookRoutes{a}.routes(),
	)
}

// operationHandler returns a handler that parses the query of a route and then calls the
// route's handler. Requests of an audited route are written to the audit log.
func (a *api) operationHandler(route route) handler {
	return func(r *request) (response any, err error) {
		if r.query, err = protocol.ReadQuery(r.URL, route.query); err != nil {
			return nil, err
		}
		if route.isAudited() {
			return a.handleAudited(route, r)
		}
		return route.handle(r)
	}
}

func notFound(*request) (any, error) {
	return nil, protocol.Errorf(protocol.CodeNotFound, "no such path or method; see docs/reference/admin.md for the admin API")
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
		problem := a.problemFor(err)
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
