package ops

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
)

// Problem is the body of an error response (RFC 9457), in the same form as in the player
// API.
type Problem struct {
	Type   string        `json:"type"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail"`
	Code   protocol.Code `json:"code"`
}

// apiError is an error with the code, status and text that the admin API returns.
type apiError struct {
	code   protocol.Code
	status int // HTTP status; 0: the status of the code
	detail string
}

func (e *apiError) Error() string { return string(e.code) + ": " + e.detail }

func newAPIError(code protocol.Code, format string, args ...any) error {
	return &apiError{code: code, detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return newAPIError(protocol.CodeBadRequest, format, args...)
}

var statuses = map[protocol.Code]int{
	protocol.CodeBadRequest:      http.StatusBadRequest,
	protocol.CodeUnauthorized:    http.StatusUnauthorized,
	protocol.CodeNotFound:        http.StatusNotFound,
	protocol.CodePayloadTooLarge: http.StatusRequestEntityTooLarge,
	protocol.CodeUnavailable:     http.StatusServiceUnavailable,
	protocol.CodeInternal:        http.StatusInternalServerError,
}

// errorTable maps errors to codes. The first row whose sentinel matches counts; status 0
// means the status of the code.
var errorTable = []struct {
	sentinel error
	code     protocol.Code
	status   int
}{
	{taskqueue.ErrNotFound, protocol.CodeNotFound, 0},
	{webhook.ErrNoEndpoint, protocol.CodeNotFound, 0},
	{taskqueue.ErrDone, protocol.CodeBadRequest, http.StatusConflict},
	{taskqueue.ErrBadCursor, protocol.CodeBadRequest, 0},
	{identity.ErrBadAuditCursor, protocol.CodeBadRequest, 0},
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

// errorWriter writes the errors of requests.
type errorWriter struct {
	isStoreDown func(error) bool
	logger      *slog.Logger
}

// toAPIError converts an error to the error that the admin API returns. Operators get the
// text of each error, because they must solve the problem.
func (e errorWriter) toAPIError(err error) *apiError {
	if known, ok := errors.AsType[*apiError](err); ok {
		return known
	}
	if known, ok := errors.AsType[*protocol.Error](err); ok {
		return &apiError{code: known.Code, detail: known.Message}
	}
	for _, row := range errorTable {
		if errors.Is(err, row.sentinel) {
			return &apiError{row.code, row.status, err.Error()}
		}
	}
	if e.isStoreDown(err) || errors.Is(err, context.DeadlineExceeded) {
		return &apiError{code: protocol.CodeUnavailable, detail: "a store is out of reach; retry in a few seconds: " + err.Error()}
	}
	return &apiError{code: protocol.CodeInternal, detail: err.Error()}
}

func newProblem(e *apiError) Problem {
	status := cmp.Or(e.status, statuses[e.code], http.StatusInternalServerError)
	return Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: e.detail, Code: e.code}
}

// writeError writes the problem for the error of a request. It logs errors of the server.
func (e errorWriter) writeError(w http.ResponseWriter, r *http.Request, err error) {
	problem := newProblem(e.toAPIError(err))
	if problem.Status >= http.StatusInternalServerError {
		e.logger.WarnContext(r.Context(), "admin request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	switch problem.Status {
	case http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", "Bearer")
	case http.StatusServiceUnavailable:
		w.Header().Set("Retry-After", "2")
	}
	writeBody(w, problem.Status, "application/problem+json", problem)
}

// writeBody writes a response with a body encoded as JSON. It ignores the error if the
// client has disconnected.
func writeBody(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
