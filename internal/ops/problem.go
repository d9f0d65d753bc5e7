package ops

import (
	"context"
	"errors"
	"net/http"

	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/nickname"
	"laststand/internal/protocol"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
)

func badRequest(format string, args ...any) error {
	return protocol.Errorf(protocol.CodeBadRequest, format, args...)
}

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

func (a *api) problemFor(err error) httpserver.Problem {
	if problem, isKnown := errorTable.Problem(err); isKnown {
		return problem
	}
	if a.IsStoreDown(err) || errors.Is(err, context.DeadlineExceeded) {
		return httpserver.NewProblem(protocol.Errorf(protocol.CodeUnavailable, "a store is out of reach; retry in a few seconds: %v", err))
	}
	return httpserver.NewProblem(protocol.Errorf(protocol.CodeInternal, "%v", err))
}
