package ops

import (
	"context"
	"net/http"
	"net/url"
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

func notFound(*request) (any, error) {
	return nil, newAPIError(protocol.CodeNotFound, "no such path or method; see docs/reference/admin.md for the admin API")
}
