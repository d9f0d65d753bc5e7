package httpapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"laststand/internal/eventq"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// statuses maps each code to its HTTP status.
var statuses = map[protocol.Code]int{
	protocol.CodeBadRequest:      http.StatusBadRequest,
	protocol.CodeUnauthorized:    http.StatusUnauthorized,
	protocol.CodeForbidden:       http.StatusForbidden,
	protocol.CodeNotFound:        http.StatusNotFound,
	protocol.CodeNotRanked:       http.StatusNotFound,
	protocol.CodeNicknameTaken:   http.StatusConflict,
	protocol.CodeAccountTaken:    http.StatusConflict,
	protocol.CodeNicknameInvalid: http.StatusUnprocessableEntity,
	protocol.CodePayloadTooLarge: http.StatusRequestEntityTooLarge,
	protocol.CodeRateLimited:     http.StatusTooManyRequests,
	protocol.CodeOverloaded:      http.StatusServiceUnavailable,
	protocol.CodeUnavailable:     http.StatusServiceUnavailable,
	protocol.CodeInternal:        http.StatusInternalServerError,
}

// Statuses returns the HTTP status of each code. A code that is missing occurs
// only on websockets.
func Statuses() map[protocol.Code]int { return maps.Clone(statuses) }

// errorTable maps the errors of the game to codes. The first row whose sentinel
// matches counts. If the detail is empty, the client gets the text of the error.
var errorTable = []struct {
	sentinel error
	code     protocol.Code
	detail   string
}{
	{identity.ErrBadAccount, protocol.CodeBadRequest, ""}, // about the token in the body, not the bearer token
	{identity.ErrToken, protocol.CodeUnauthorized, ""},
	{identity.ErrBanned, protocol.CodeForbidden, ""},
	{identity.ErrAccountTaken, protocol.CodeAccountTaken, ""},
	{identity.ErrNotGuest, protocol.CodeAccountTaken, ""},
	{identity.ErrNotPlayer, protocol.CodeForbidden, ""},
	{identity.ErrWrongDevice, protocol.CodeForbidden, ""},
	{identity.ErrBadDevice, protocol.CodeBadRequest, ""},
	{identity.ErrNoGame, protocol.CodeNotFound, "there is no such game"},
	{identity.ErrNotFound, protocol.CodeNotFound, "there is no such player"},
	{identity.ErrNicknameTaken, protocol.CodeNicknameTaken, "another player has this nickname, or one that looks like it"},
	{identity.ErrCannotSign, protocol.CodeForbidden, "this game has no guests: its tokens are signed elsewhere; get a token from the service of the game"},
	{nickname.ErrInvalid, protocol.CodeNicknameInvalid, ""},
	{leaderboard.ErrNoWindow, protocol.CodeNotFound, "there is no such leaderboard; GET …/leaderboards lists them"},
	{leaderboard.ErrNotRanked, protocol.CodeNotRanked, "the player is not on this leaderboard"},
	{leaderboard.ErrNotReady, protocol.CodeUnavailable, "the leaderboard is being built; retry later"},
	{leaderboard.ErrBadQuery, protocol.CodeBadRequest, ""},
	{match.ErrNotFound, protocol.CodeNotFound, "there is no such match, or it is not settled yet"},
	{match.ErrOverloaded, protocol.CodeOverloaded, "too many results wait to be settled; retry later"},
	{eventq.ErrFull, protocol.CodeOverloaded, "the queue of behaviours of this game is full and accepted none of these; retry later"},
	{taskqueue.ErrBadTask, protocol.CodeBadRequest, ""},
	{taskqueue.ErrBadRequest, protocol.CodeBadRequest, ""},
	{taskqueue.ErrNotFound, protocol.CodeNotFound, "there is no such task"},
	{taskqueue.ErrTooManyPolls, protocol.CodeOverloaded, "too many polls wait at this node; claim more tasks per poll, or retry later"},
	{match.ErrBadCursor, protocol.CodeBadRequest, "the cursor is not from an earlier page of this path; start without a cursor"},
}

// clientError is an error that this package decides. detail is the text for the
// client. status 0 means the status of the code, see statuses.
type clientError struct {
	code   protocol.Code
	status int
	detail string
}

func (e *clientError) Error() string { return string(e.code) + ": " + e.detail }

func clientErrorf(code protocol.Code, format string, args ...any) *clientError {
	return &clientError{code: code, detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *clientError {
	return clientErrorf(protocol.CodeBadRequest, format, args...)
}

var (
	errInternal  = clientErrorf(protocol.CodeInternal, "the request failed because of a defect of the server; the server logged it")
	errStoreDown = clientErrorf(protocol.CodeUnavailable, "a store is out of reach; retry later")
)

// statusClientClosed is the status in the metrics if the client closed the
// connection before the response. nginx uses the same number.
const statusClientClosed = 499

// writeError writes the problem for the error of a request. It logs the error if
// the client did not cause it.
func (a *api) writeError(w *statusWriter, r *http.Request, route route, err error) {
	problem, isExpected := a.problemFor(err)
	switch {
	case problem.Status == http.StatusRequestTimeout: // the read timeout has already cancelled the context
	case errors.Is(r.Context().Err(), context.Canceled):
		w.WriteHeader(statusClientClosed)
		return
	case isExpected:
	case problem.Status == http.StatusServiceUnavailable:
		a.Logger.WarnContext(r.Context(), "store is out of reach", "method", r.Method, "route", route.path, "error", err)
	default:
		a.Logger.ErrorContext(r.Context(), "request failed", "method", r.Method, "route", route.path, "error", err)
	}
	writeProblem(w, problem)
}

// problemFor returns the problem for an error. isExpected is false for a failure
// of the server, which the caller must log.
func (a *api) problemFor(err error) (p problem, isExpected bool) {
	if e, ok := errors.AsType[*clientError](err); ok {
		return newProblem(e), true
	}
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return newProblem(clientErrorf(e.Code, "%s", e.Message)).withRetryAfter(e.RetryAfterMS), true
	}
	for _, row := range errorTable {
		if !errors.Is(err, row.sentinel) {
			continue
		}
		if row.detail == "" {
			row.detail = err.Error()
		}
		return newProblem(clientErrorf(row.code, "%s", row.detail)).withSuggestions(err), true
	}
	if a.IsStoreDown(err) || errors.Is(err, context.DeadlineExceeded) {
		return newProblem(errStoreDown), false
	}
	return newProblem(errInternal), false
}
