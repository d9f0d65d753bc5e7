package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"laststand/internal/audit"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
)

// problem is the body of an error (RFC 9457), in the same form as in the player API.
type problem struct {
	Type   string        `json:"type"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail"`
	Code   protocol.Code `json:"code"`
}

// refused is an error as the admin API shows it.
type refused struct {
	code   protocol.Code
	status int // 0: the code's own
	detail string
}

func (e *refused) Error() string { return string(e.code) + ": " + e.detail }

func refuse(code protocol.Code, format string, args ...any) error {
	return &refused{code: code, detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return refuse(protocol.CodeBadRequest, format, args...)
}

var statuses = map[protocol.Code]int{
	protocol.CodeBadRequest:      http.StatusBadRequest,
	protocol.CodeUnauthorized:    http.StatusUnauthorized,
	protocol.CodeNotFound:        http.StatusNotFound,
	protocol.CodePayloadTooLarge: http.StatusRequestEntityTooLarge,
	protocol.CodeUnavailable:     http.StatusServiceUnavailable,
	protocol.CodeInternal:        http.StatusInternalServerError,
}

// outcomes maps errors to codes. The first match counts; status 0 means the status of
// the code.
var outcomes = []struct {
	is     error
	code   protocol.Code
	status int
}{
	{taskqueue.ErrNotFound, protocol.CodeNotFound, 0},
	{webhook.ErrNoEndpoint, protocol.CodeNotFound, 0},
	{taskqueue.ErrDone, protocol.CodeBadRequest, http.StatusConflict},
	{taskqueue.ErrBadCursor, protocol.CodeBadRequest, 0},
	{audit.ErrBadCursor, protocol.CodeBadRequest, 0},
	{taskqueue.ErrBadTask, protocol.CodeBadRequest, 0},
	{settle.ErrBadPayload, protocol.CodeBadRequest, 0},
	{settle.ErrStopping, protocol.CodeUnavailable, 0},
	{leaderboard.ErrNotReady, protocol.CodeUnavailable, 0},
	{ErrNoResult, protocol.CodeNotFound, 0},
	{ErrErasing, protocol.CodeUnavailable, 0},
	{identity.ErrInvalidRevocation, protocol.CodeBadRequest, 0},
	{identity.ErrNotRevoked, protocol.CodeNotFound, 0},
	{identity.ErrNotFound, protocol.CodeNotFound, 0},
	{identity.ErrNoAccount, protocol.CodeNotFound, 0},
	{identity.ErrNotGuest, protocol.CodeBadRequest, http.StatusConflict},
	{nickname.ErrInvalid, protocol.CodeBadRequest, 0},
	{identity.ErrNoKey, protocol.CodeNotFound, 0},
	{identity.ErrKeyInUse, protocol.CodeBadRequest, http.StatusConflict},
	{identity.ErrTooManyKeys, protocol.CodeBadRequest, http.StatusConflict},
	{identity.ErrConfiguredKeys, protocol.CodeBadRequest, http.StatusConflict},
}

// refusalOf converts an error to what the admin API shows. Operators see the text of
// every error, because they must fix it.
func (a *api) refusalOf(err error) *refused {
	if e, ok := errors.AsType[*refused](err); ok {
		return e
	}
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return &refused{code: e.Code, detail: e.Message}
	}
	for _, o := range outcomes {
		if errors.Is(err, o.is) {
			return &refused{o.code, o.status, err.Error()}
		}
	}
	if a.Down(err) || errors.Is(err, context.DeadlineExceeded) {
		return &refused{code: protocol.CodeUnavailable, detail: "a store is out of reach; retry in a few seconds: " + err.Error()}
	}
	return &refused{code: protocol.CodeInternal, detail: err.Error()}
}

func problemOf(e *refused) problem {
	status := cmp.Or(e.status, statuses[e.code], http.StatusInternalServerError)
	return problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.detail, Code: e.code}
}

// fail answers a request with its error. It logs errors of the server.
func (a *api) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(a.refusalOf(err))
	if p.Status >= http.StatusInternalServerError {
		a.Logger.WarnContext(r.Context(), "admin request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	switch p.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "2")
	}
	write(w, p.Status, "application/problem+json", p)
}

// answer writes a body as JSON.
func answer(w http.ResponseWriter, status int, body any) error {
	write(w, status, "application/json", body)
	return nil
}

// write sends a body that encodes as JSON. It ignores a client that has disconnected.
func write(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
