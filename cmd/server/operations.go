package main

import (
	"context"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/match"
	"laststand/internal/ops"
	"laststand/internal/taskqueue"
)

func (n *node) operations() ops.Config {
	access := newAccessControl(n)
	taskActions := taskqueue.NewAdmin(n.ledger.Tasks, map[string]taskqueue.TopicActions{taskqueue.SettleTopic: n.settler}) // the settler handles tasks of its own topic
	return ops.Config{
		Gatherer: n.registry, Registry: n.registry, Audit: n.ledger.Audit, VerifyAdmin: verifyAdmin(n.identity), Games: n.config.GameNames(), Tasks: n.ledger.Tasks, TaskActions: taskActions, Leaderboards: n.leaderboards,
		Queues: n.reporting.admin, SendQueued: n.reporting.Drain, Webhooks: n.dispatcher, Revocations: access, Players: access, Keys: access,
		Corrections: corrections{n}, Days: n.ledger.Days, Health: n.players.Handler, Now: n.now, IsStoreDown: isStoreUnavailable, Logger: n.log,
	}
}

func verifyAdmin(tokens *identity.Registry) func(ctx context.Context, token string) (string, error) {
	return func(ctx context.Context, token string) (string, error) {
		claims, err := tokens.Verify(ctx, token)
		if err == nil && claims.Role != identity.RoleAdmin {
			err = identity.ErrTokenRole
		}
		return claims.Subject, err
	}
}

// corrections changes results, first in the ledger and then on the leaderboards. It
// implements ops.Corrections and httpapi.Voids.
type corrections struct{ *node }

// Correct disqualifies the results of a match, or of one player in it. It returns the number of
// ledger rows that the correction cancels.
func (c corrections) Correct(ctx context.Context, correction ops.Correction) (int, error) {
	count, err := c.ledger.Corrections.Disqualify(ctx, ledger.Disqualification{
		Game: correction.Game, Match: correction.Match, Player: correction.Player, Reason: correction.Reason, By: correction.By,
	})
	if errors.Is(err, match.ErrNotFound) {
		return 0, ops.ErrNoResult
	}
	if err != nil {
		return 0, err
	}
	return count, c.leaderboards.Apply(ctx, correction.Game)
}

// isStoreUnavailable reports whether the database or Redis cannot serve requests at the moment.
// Then the request itself may be valid, and the client can retry it.
func isStoreUnavailable(err error) bool {
	if errors.Is(err, redis.ErrClosed) || errors.Is(err, redis.ErrPoolTimeout) {
		return true
	}
	return slices.ContainsFunc([]func(error) bool{
		ledger.IsUnavailable, redis.IsLoadingError, redis.IsReadOnlyError, redis.IsClusterDownError, redis.IsTryAgainError,
		redis.IsMasterDownError, redis.IsMaxClientsError, redis.IsOOMError, redis.IsNoReplicasError,
	}, func(meansUnavailable func(error) bool) bool { return meansUnavailable(err) })
}
