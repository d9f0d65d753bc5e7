package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"time"

	"laststand/internal/answers"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
)

// Operation is one operation of the admin API. The API refuses query parameters that are not in
// Query. A sensitive operation reads data of players or of the process. The audit log gets an
// entry of it, as of a change.
type Operation struct {
	Method, Path string
	handle       handler
	Query        []string
	isSensitive  bool
	Summary      string // one sentence for docs/reference/admin.md
}

func (o Operation) isRead() bool { return o.Method == http.MethodGet || o.isSensitive }

// IsAudited returns true if the audit log gets an entry of each request.
func (o Operation) IsAudited() bool { return o.Method != http.MethodGet || o.isSensitive }

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
	limit int // the query parameter limit, or its default: the maximum number of items of a page

	body    []byte // JSON; only audited routes have one
	bodyErr error  // why the body is not JSON text; handlers without a body ignore it
}

// callTimeout is the time limit of a request, except a verification of leaderboards. In
// this time the database can process ten queued changes.
const callTimeout = 30 * time.Second

// handler carries out a request and returns the response; see httpserver.Respond.
type handler func(*request) (response any, err error)

// maxBody is the maximum size of a request body, in bytes. The result of the largest
// arena has about 3 MB.
const maxBody = 16 << 20

func badRequest(format string, args ...any) error {
	return protocol.Errorf(protocol.CodeBadRequest, format, args...)
}

func notFound(*request) (any, error) {
	return nil, protocol.Errorf(protocol.CodeNotFound, "no such path or method; see docs/reference/admin.md for the admin API")
}

func badCursor(cursor string) error {
	return badRequest("cursor=%q is not from a page of this list; start again without a cursor", cursor)
}

// withBody returns a handler that decodes the body, a JSON object. It refuses unknown fields, and
// NUL characters (\u0000), which PostgreSQL cannot store as text.
func withBody[T any](handle func(*request, T) (any, error)) handler {
	return func(r *request) (any, error) {
		var body T
		if r.bodyErr != nil {
			return nil, r.bodyErr
		}
		if escapedNUL.Match(r.body) {
			return nil, badRequest("the body has a NUL character; remove it")
		}
		if err := (protocol.Request{Type: "the body", Data: r.body}).Decode(&body); err != nil {
			return nil, err
		}
		return handle(r, body)
	}
}

// optionalBody is withBody, but a request without a body has the zero body.
func optionalBody[T any](handle func(*request, T) (any, error)) handler {
	return func(r *request) (any, error) {
		if r.ContentLength == 0 {
			return handle(r, *new(T))
		}
		return withBody(handle)(r)
	}
}

// maxReason is the maximum length of a reason, in bytes.
const maxReason = 500

type reasonBody struct {
	Reason string `json:"reason" need:"true"`
}

// withReason is withBody for a body that has only the reason of a change, which other operators
// can see.
func withReason(handle func(r *request, reason string) (any, error)) handler {
	return withBody(func(r *request, body reasonBody) (any, error) {
		if body.Reason == "" || len(body.Reason) > maxReason {
			return nil, badRequest("the reason has %d bytes; use 1 to %d", len(body.Reason), maxReason)
		}
		return handle(r, body.Reason)
	})
}

// escapedNUL matches JSON with a NUL character.
var escapedNUL = regexp.MustCompile(`(?:^|[^\\])(?:\\\\)*\\u0000`)

// page is one page of a list. Its JSON has the items under key, and the cursor of the next
// page, which the last page does not have.
type page[T any] struct {
	key   string
	items []T
	next  string
}

func (p page[T]) MarshalJSON() ([]byte, error) {
	items, err := json.Marshal(append([]T{}, p.items...))
	text := fmt.Appendf(nil, "{%q:%s", p.key, items)
	if p.next != "" {
		text = fmt.Appendf(text, ",%q:%q", "next_cursor", p.next)
	}
	return append(text, '}'), err
}

// ErrNoResult means that the ledger has no result of the match or player to correct.
var ErrNoResult = errors.New("the ledger has no such match, or the match no such player")

// errorTable maps errors to refusals. Operators get the text of each error, because they must
// solve the problem.
var errorTable = httpserver.ErrorTable{
	{protocol.CodeNotFound, 0, "", []error{
		taskqueue.ErrNotFound, webhook.ErrNoEndpoint, ErrNoResult, match.ErrNotFound,
		identity.ErrNotRevoked, identity.ErrNotFound, identity.ErrNoAccount, identity.ErrNoKey,
	}},
	{protocol.CodeBadRequest, http.StatusConflict, "", []error{
		taskqueue.ErrDone, answers.ErrNotRecountable, answers.ErrNotStored,
		identity.ErrNotGuest, identity.ErrKeyInUse, identity.ErrTooManyKeys, identity.ErrConfiguredKeys,
	}},
	{protocol.CodeBadRequest, 0, "", []error{
		taskqueue.ErrBadCursor, taskqueue.ErrBadTask, settle.ErrBadPayload, answers.ErrNoQuestion,
		identity.ErrBadAuditCursor, identity.ErrInvalidRevocation, nickname.ErrInvalid,
	}},
	{protocol.CodeUnavailable, 0, "", []error{settle.ErrStopping, leaderboard.ErrNotReady, answers.ErrOnTheWay}},
}

// problemFor returns the problem of an error. isStoreDown reports whether an error means that
// a store is unavailable.
func problemFor(err error, isStoreDown func(error) bool) httpserver.Problem {
	if problem, isKnown := errorTable.Problem(err); isKnown {
		return problem
	}
	if isStoreDown(err) || errors.Is(err, context.DeadlineExceeded) {
		return httpserver.NewProblem(protocol.Errorf(protocol.CodeUnavailable, "a store is out of reach; retry in a few seconds: %v", err))
	}
	return httpserver.NewProblem(protocol.Errorf(protocol.CodeInternal, "%v", err))
}
