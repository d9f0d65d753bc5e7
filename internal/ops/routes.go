package ops

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"laststand/internal/protocol"
)

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
	for _, route := range (&api{auditor: new(auditor)}).routes() {
		list = append(list, Operation{route.method, route.path, route.query, route.isAudited(), route.summary})
	}
	return list
}

// routes lists the whole admin API.
func (a *api) routes() []route {
	return slices.Concat(
		taskRoutes{a.Tasks, a.TaskActions}.routes(),
		boardRoutes{a.Leaderboards, a.Corrections, a.Days, a.errors.toAPIError}.routes(),
		queueRoutes{a.Queues, a.SendQueued, a.Games, a.Now}.routes(),
		auditRoutes{a.Audit}.routes(),
		accessRoutes{a.Revocations, a.Players, a.Keys, a.Now}.routes(),
		webhookRoutes{a.Webhooks}.routes(),
	)
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
			a.errors.writeError(w, r, err)
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
