package ops

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

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

// isRead returns true if the route changes nothing.
func (rt route) isRead() bool { return rt.method == http.MethodGet || rt.sensitive }

// isAudited returns true if the audit log gets an entry of each request.
func (rt route) isAudited() bool { return rt.method != http.MethodGet || rt.sensitive }

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

const (
	tasksPath = "/admin/v1/tasks"
	gamePath  = "/admin/v1/games/{game}"
)

// routes lists the whole admin API.
func (a *api) routes() []route {
	return slices.Concat(
		taskRoutes{a.Tasks, a.TaskActions}.routes(),
		boardRoutes{a.Leaderboards, a.Corrections, a.Days, a.toAPIError}.routes(),
		queueRoutes{a.Queues, a.SendQueued, a.Games, a.Now}.routes(),
		auditRoutes{a.Audit}.routes(),
		accessRoutes{a.Revocations, a.Players, a.Keys, a.Now}.routes(),
		webhookRoutes{a.Webhooks}.routes(),
	)
}

// request is a request with a valid admin token. The game of its path exists; it is "" if
// the path has none. query has only the parameters that the route allows.
type request struct {
	*http.Request
	ctx   context.Context // of the request, with callTimeout
	w     http.ResponseWriter
	actor string // subject of the token
	game  string
	query url.Values
}

// callTimeout is the time limit of a request, except a verification of leaderboards. In
// this time the database can process ten queued changes.
const callTimeout = 30 * time.Second

// handler carries out a request and returns the body of the response, which is encoded as
// JSON with status 200. nil means status 204. A withStatus has another status. For
// isWritten, the handler has written the response to the request's w.
type handler func(*request) (body any, err error)

type withStatus struct {
	status int
	body   any
}

type isWritten struct{ status int }

// statusOf returns the HTTP status of the response to a handled request.
func statusOf(body any) int {
	switch response := body.(type) {
	case nil:
		return http.StatusNoContent
	case withStatus:
		return response.status
	case isWritten:
		return response.status
	}
	return http.StatusOK
}

// operationHandler returns a handler that parses the query of a route and then calls the
// route's handler. Requests of an audited route are written to the audit log.
func (a *api) operationHandler(route route) handler {
	return func(r *request) (body any, err error) {
		if r.query, err = protocol.ReadQuery(r.URL, route.query); err != nil {
			return nil, err
		}
		if route.isAudited() {
			return a.handleAudited(route, r)
		}
		return route.handle(r)
	}
}

// requireAdmin returns a handler that refuses requests without a valid admin token.
func (a *api) requireAdmin(handle handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		body, err := a.authenticateAndHandle(w, r, handle)
		if err != nil {
			a.writeError(w, r, err)
			return
		}
		switch response := body.(type) {
		case nil:
			w.WriteHeader(http.StatusNoContent)
		case isWritten:
		case withStatus:
			writeBody(w, response.status, "application/json", response.body)
		default:
			writeBody(w, http.StatusOK, "application/json", body)
		}
	})
}

func (a *api) authenticateAndHandle(w http.ResponseWriter, r *http.Request, handle handler) (body any, err error) {
	actor, err := a.adminSubject(r)
	if err != nil {
		return nil, err
	}
	game := r.PathValue("game")
	if game != "" && !slices.Contains(a.Games, game) {
		return nil, newAPIError(protocol.CodeNotFound, "game %q is not configured; there are: %s", game, strings.Join(a.Games, ", "))
	}
	ctx, cancel := context.WithTimeout(r.Context(), callTimeout)
	defer cancel()
	return handle(&request{Request: r, ctx: ctx, w: w, actor: actor, game: game})
}

// adminSubject returns the subject of a request's token of the role admin.
func (a *api) adminSubject(r *http.Request) (string, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if ok {
		subject, err := a.VerifyAdmin(r.Context(), token)
		if err == nil || a.IsStoreDown(err) {
			return subject, err
		}
	}
	return "", newAPIError(protocol.CodeUnauthorized, "an admin token signed with the server's own key is required; see `server token --help`")
}

func notFound(*request) (any, error) {
	return nil, newAPIError(protocol.CodeNotFound, "no such path or method; see docs/reference/admin.md for the admin API")
}
