package main

import (
	"context"
	"errors"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/ops"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
)

// operations returns the configuration of the HTTP handler at --ops-listen.
func (n *node) operations() ops.Config {
	return ops.Config{
		Gatherer: n.registry, Registry: n.registry, Audit: n.ledger, Admin: n.admin, Games: n.config.gameNames(), Tasks: n.ledger, Desk: n.taskAdmin(), Leaderboards: n.boards,
		Queues: n.reporting.admin, Drain: n.reporting.Drain, Hooks: n.dispatcher, Revocations: n.accessControl(), Players: n.accessControl(), Keys: n.accessControl(),
		Corrections: corrections{n.ledger, n.boards}, Days: n.ledger, Now: n.now, Down: unavailable, Logger: n.log,
	}
}

// taskAdmin returns the service that changes tasks for operators. The settler handles tasks of
// its own topic.
func (n *node) taskAdmin() taskqueue.TaskActions {
	return taskqueue.NewAdmin(n.ledger, map[string]taskqueue.TaskActions{taskqueue.Settle: n.settler})
}

// admin verifies an admin token and returns its subject.
func (n *node) admin(ctx context.Context, token string) (string, error) {
	claims, err := n.identity.Verify(ctx, token)
	if err == nil && claims.Role != identity.RoleAdmin {
		err = identity.ErrTokenRole
	}
	return claims.Subject, err
}

// corrections disqualifies results, first in the ledger and then on the leaderboards. It
// implements ops.Corrections.
type corrections struct {
	ledger *ledger.Ledger
	boards settle.Leaderboards
}

// Correct disqualifies the results of a match, or of one player in it. It returns the number of
// ledger rows that the correction cancels.
func (c corrections) Correct(ctx context.Context, wrong ops.Correction) (int, error) {
	done, err := c.ledger.Disqualify(ctx, ledger.Disqualification{
		Game: wrong.Game, Match: wrong.Match, Player: wrong.Player, Reason: wrong.Reason, By: wrong.By,
	})
	if errors.Is(err, ledger.ErrNotFound) {
		return 0, ops.ErrNoResult
	}
	if errors.Is(err, ledger.ErrErasing) {
		return 0, ops.ErrErasing
	}
	if err != nil {
		return 0, err
	}
	return done.Rows, c.boards.Apply(ctx, wrong.Game)
}
