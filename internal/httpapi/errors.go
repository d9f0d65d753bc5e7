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

// The codes that this package gives by itself.
const (
	codeBadRequest = protocol.CodeBadRequest
	codeNotFound   = protocol.CodeNotFound
	codeForbidden  = protocol.CodeForbidden
)

// statuses is what each code is over HTTP.
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

// Statuses returns the HTTP status of each code. A code without one occurs on
// websockets only.
func Statuses() map[protocol.Code]int { return maps.Clone(statuses) }

// outcomes is what each error of the game is to a client. Where the detail is
// empty the error's own text is made for clients. The first that fits holds.
var outcomes = []struct {
	is     error
	code   protocol.Code
	detail string
}{
	{identity.ErrBadAccount, protocol.CodeBadRequest, ""}, // another token than the bearer's
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
	{identity.ErrOldRules, protocol.CodeUnavailable, "this node is older than the rules for names and gives none out any more; try again, another one answers"},
	{identity.ErrCannotSign, protocol.CodeForbidden, "guests are not taken in this game: its tokens are signed elsewhere"},
	{nickname.ErrInvalid, protocol.CodeNicknameInvalid, ""},
	{leaderboard.ErrNoWindow, protocol.CodeNotFound, "there is no such leaderboard; the game's list of leaderboards has those there are"},
	{leaderboard.ErrNotRanked, protocol.CodeNotRanked, "the player is not on this leaderboard"},
	{leaderboard.ErrNotReady, protocol.CodeUnavailable, "the leaderboard is being built; try again soon"},
	{leaderboard.ErrBadQuery, protocol.CodeBadRequest, ""},
	{match.ErrNotFound, protocol.CodeNotFound, "there is no such match, or it is not settled yet"},
	{match.ErrOverloaded, protocol.CodeOverloaded, "too much is waiting to be settled; try again soon"},
	{eventq.ErrFull, protocol.CodeOverloaded, "the game's queue of behaviours is full, and none of these was taken; try again soon"},
	{taskqueue.ErrBadTask, protocol.CodeBadRequest, ""},
	{taskqueue.ErrBadRequest, protocol.CodeBadRequest, ""},
	{taskqueue.ErrNotFound, protocol.CodeNotFound, "there is no such task"},
	{taskqueue.ErrTooManyPolls, protocol.CodeOverloaded, "too many polls wait at this node already; ask for more tasks by one, or try again soon"},
	{match.ErrBadCursor, protocol.CodeBadRequest, "the cursor is not one that this path has given"},
}

// refused is an error as a client is to see it. Status 0 is the code's own.
type refused struct {
	code   protocol.Code
	status int
	detail string
}

func (e *refused) Error() string { return string(e.code) + ": " + e.detail }

func refuse(code protocol.Code, format string, args ...any) *refused {
	return &refused{code: code, detail: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) *refused {
	return refuse(codeBadRequest, format, args...)
}

var (
	internal = refuse(protocol.CodeInternal, "something went wrong here; it has been logged")
	outage   = refuse(protocol.CodeUnavailable, "a store is out of reach; try again soon")
)

// statusGone is what a request counts as whose client did not wait, after
// nginx's custom.
const statusGone = 499

// fail answers a request with its error, and logs what is not the client's.
func (a *api) fail(w *writer, r *http.Request, rt route, err error) {
	p, known := a.outcome(err)
	switch {
	case p.Status == http.StatusRequestTimeout: // which has ended its connection's reading, and so its context
	case errors.Is(r.Context().Err(), context.Canceled):
		w.WriteHeader(statusGone)
		return
	case known:
	case p.Status == http.StatusServiceUnavailable:
		a.Logger.WarnContext(r.Context(), "a store is out of reach", "method", r.Method, "route", rt.path, "error", err)
	default:
		a.Logger.ErrorContext(r.Context(), "a request failed", "method", r.Method, "route", rt.path, "error", err)
	}
	writeProblem(w, p)
}

// outcome is the problem that an error is to the client; known are those that
// the game decided.
func (a *api) outcome(err error) (p problem, known bool) {
	if e, ok := errors.AsType[*refused](err); ok {
		return problemOf(e), true
	}
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return problemOf(refuse(e.Code, "%s", e.Message)).after(e.RetryAfterMS), true
	}
	for _, o := range outcomes {
		if !errors.Is(err, o.is) {
			continue
		}
		if o.detail == "" {
			o.detail = err.Error()
		}
		return problemOf(refuse(o.code, "%s", o.detail)).with(err), true
	}
	if a.Down(err) || errors.Is(err, context.DeadlineExceeded) {
		return problemOf(outage), false
	}
	return problemOf(internal), false
}
