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

// operations configures the handler of the operations address.
func (n *node) operations() ops.Config {
	return ops.Config{
		Gatherer: n.registry, Registry: n.registry, Audit: n.ledger, Admin: n.admin, Games: n.config.gameNames(), Tasks: n.ledger, Desk: n.taskAdmin(), Leaderboards: n.boards,
		Queues: n.reporting.admin, Drain: n.reporting.Drain, Hooks: n.dispatcher, Revocations: n.accessControl(), Players: n.accessControl(), Keys: n.accessControl(),
		Corrections: corrections{n.ledger, n.boards}, Days: n.ledger, Now: n.now, Down: unavailable, Logger: n.log,
	}
}

// taskAdmin changes tasks on behalf of operators. Settlement handles its own topic.
func (n *node) taskAdmin() taskqueue.TaskActions {
	return taskqueue.NewAdmin(n.ledger, map[string]taskqueue.TaskActions{taskqueue.Settle: n.settler})
}

// admin returns the subject of an admin token.
func (n *node) admin(ctx context.Context, token string) (string, error) {
	claims, err := n.identity.Verify(ctx, token)
	if err == nil && claims.Role != identity.RoleAdmin {
		err = identity.ErrTokenRole
	}
	return claims.Subject, err
}

// corrections disqualifies results, in the ledger and then on the leaderboards. It
// implements ops.Corrections.
type corrections struct {
	ledger *ledger.Ledger
	boards settle.Leaderboards
}

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
