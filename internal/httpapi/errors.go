package httpapi

import (
	"context"
	"errors"
	"net/http"

	"laststand/internal/answers"
	"laststand/internal/eventq"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

// errorTable maps the errors of the game to codes. If the detail is empty, the client gets the text
// of the error.
var errorTable = httpserver.ErrorTable{
	{protocol.CodeBadRequest, 0, "", []error{ // ErrBadAccount wraps ErrToken, but is about the token in the body
		identity.ErrBadAccount, identity.ErrBadDevice, leaderboard.ErrBadQuery, answers.ErrReportTooLarge, taskqueue.ErrBadTask, taskqueue.ErrBadRequest,
	}},
	{protocol.CodeUnauthorized, 0, "", []error{identity.ErrToken}},
	{protocol.CodeForbidden, 0, "", []error{identity.ErrBanned, identity.ErrNotPlayer, identity.ErrWrongDevice}},
	{protocol.CodeAccountTaken, 0, "", []error{identity.ErrAccountTaken, identity.ErrNotGuest}},
	{protocol.CodeNicknameInvalid, 0, "", []error{nickname.ErrInvalid}},
	{protocol.CodeNotFound, 0, "there is no such game", []error{identity.ErrNoGame}},
	{protocol.CodeNotFound, 0, "there is no such player", []error{identity.ErrNotFound}},
	{protocol.CodeNicknameTaken, 0, "another player has this nickname, or one that looks like it", []error{identity.ErrNicknameTaken}},
	{protocol.CodeForbidden, 0, "this game has no guests: its tokens are signed elsewhere; get a token from the service of the game", []error{identity.ErrCannotSign}},
	{protocol.CodeNotFound, 0, "there is no such leaderboard; GET …/leaderboards lists them", []error{leaderboard.ErrNoWindow}},
	{protocol.CodeNotRanked, 0, "the player is not on this leaderboard", []error{leaderboard.ErrNotRanked}},
	{protocol.CodeUnavailable, 0, "the leaderboard is being built; retry later", []error{leaderboard.ErrNotReady}},
	{protocol.CodeNotFound, 0, "there is no such match, or it is not settled yet", []error{match.ErrNotFound}},
	{protocol.CodeForbidden, 0, "only players of the match can read their answers", []error{answers.ErrNotPlayer}},
	{protocol.CodeUnavailable, 0, "the answers of this match are not stored yet; retry later", []error{answers.ErrOnTheWay}},
	{protocol.CodeNotFound, 0, "the answers of this match have been deleted or are lost", []error{answers.ErrNotStored}},
	{protocol.CodeBadRequest, 0, "the match has revealed no such question; the first is 0", []error{answers.ErrNoQuestion}},
	{protocol.CodeBadRequest, http.StatusConflict, "questions of survival matches, and of matches before an upgrade of the server, cannot be made void", []error{answers.ErrNotRecountable}},
	{protocol.CodeForbidden, 0, "the host can make questions void for an hour after the match; ask the operator", []error{answers.ErrTooOld}},
	{protocol.CodeOverloaded, 0, "too many results wait to be settled; retry later", []error{match.ErrOverloaded}},
	{protocol.CodeOverloaded, 0, "the queue of behaviours of this game is full and accepted none of these; retry later", []error{eventq.ErrFull}},
	{protocol.CodeNotFound, 0, "there is no such task", []error{taskqueue.ErrNotFound}},
	{protocol.CodeOverloaded, 0, "too many polls wait at this node; claim more tasks per poll, or retry later", []error{taskqueue.ErrTooManyPolls}},
	{protocol.CodeBadRequest, 0, "the cursor is not from an earlier page of this path; start without a cursor", []error{match.ErrBadCursor}},
}

func badRequest(format string, args ...any) error {
	return protocol.Errorf(protocol.CodeBadRequest, format, args...)
}

var (
	errInternal  = protocol.Errorf(protocol.CodeInternal, "the request failed because of a defect of the server; the server logged it")
	errStoreDown = protocol.Errorf(protocol.CodeUnavailable, "a store is out of reach; retry later")
	errDraining  = protocol.Errorf(protocol.CodeUnavailable, "this node is stopping; retry, and another node answers")
)

// maxDetail is the maximum length of a detail, in characters.
const maxDetail = 300

// statusClientClosed is the status in the metrics if the client closed the
// connection before the response. nginx uses the same number.
const statusClientClosed = 499

// writeError writes the problem for the error of a request. It logs the error if
// the client did not cause it.
func (a *api) writeError(w http.ResponseWriter, r *http.Request, route route, err error) {
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
	httpserver.WriteProblem(w, problem)
}

// problemFor returns the problem for an error. isExpected is false for a failure
// of the server, which the caller must log.
func (a *api) problemFor(err error) (p httpserver.Problem, isExpected bool) {
	if p, isExpected = errorTable.Problem(err); !isExpected {
		if a.IsStoreDown(err) || errors.Is(err, context.DeadlineExceeded) {
			return httpserver.NewProblem(errStoreDown), false
		}
		return httpserver.NewProblem(errInternal), false
	}
	if runes := []rune(p.Detail); len(runes) > maxDetail {
		p.Detail = string(runes[:maxDetail]) + "…"
	}
	if p.Code == protocol.CodeNicknameInvalid {
		p.Reason = nickname.Reason(err)
	}
	if taken, ok := errors.AsType[*identity.TakenError](err); ok {
		p.Suggestions = taken.Suggestions
	}
	return p, true
}
