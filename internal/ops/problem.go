package ops

import (
	"context"
	"errors"
	"net/http"

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

// ErrNoResult means that the ledger has no result of the match or player to correct.
var ErrNoResult = errors.New("the ledger has no such match, or the match no such player")

// errorTable maps errors to refusals. Operators get the text of each error, because they must
// solve the problem.
var errorTable = httpserver.ErrorTable{
	{taskqueue.ErrNotFound, protocol.CodeNotFound, 0, ""},
	{webhook.ErrNoEndpoint, protocol.CodeNotFound, 0, ""},
	{taskqueue.ErrDone, protocol.CodeBadRequest, http.StatusConflict, ""},
	{taskqueue.ErrBadCursor, protocol.CodeBadRequest, 0, ""},
	{identity.ErrBadAuditCursor, protocol.CodeBadRequest, 0, ""},
	{taskqueue.ErrBadTask, protocol.CodeBadRequest, 0, ""},
	{settle.ErrBadPayload, protocol.CodeBadRequest, 0, ""},
	{settle.ErrStopping, protocol.CodeUnavailable, 0, ""},
	{leaderboard.ErrNotReady, protocol.CodeUnavailable, 0, ""},
	{ErrNoResult, protocol.CodeNotFound, 0, ""},
	{match.ErrNotFound, protocol.CodeNotFound, 0, ""},
	{answers.ErrNoQuestion, protocol.CodeBadRequest, 0, ""},
	{answers.ErrNotRecountable, protocol.CodeBadRequest, http.StatusConflict, ""},
	{answers.ErrNotStored, protocol.CodeBadRequest, http.StatusConflict, ""},
	{answers.ErrOnTheWay, protocol.CodeUnavailable, 0, ""},
	{identity.ErrInvalidRevocation, protocol.CodeBadRequest, 0, ""},
	{identity.ErrNotRevoked, protocol.CodeNotFound, 0, ""},
	{identity.ErrNotFound, protocol.CodeNotFound, 0, ""},
	{identity.ErrNoAccount, protocol.CodeNotFound, 0, ""},
	{identity.ErrNotGuest, protocol.CodeBadRequest, http.StatusConflict, ""},
	{nickname.ErrInvalid, protocol.CodeBadRequest, 0, ""},
	{identity.ErrNoKey, protocol.CodeNotFound, 0, ""},
	{identity.ErrKeyInUse, protocol.CodeBadRequest, http.StatusConflict, ""},
	{identity.ErrTooManyKeys, protocol.CodeBadRequest, http.StatusConflict, ""},
	{identity.ErrConfiguredKeys, protocol.CodeBadRequest, http.StatusConflict, ""},
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
