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

// operations is what the operators' address serves.
func (n *node) operations() ops.Config {
	return ops.Config{
		Gatherer: n.registry, Registry: n.registry, Acts: n.ledger, Admin: n.admin, Games: n.config.gameNames(), Tasks: n.ledger, Desk: n.desk(), Boards: n.boards,
		Queues: n.reporting.desk, Drain: n.reporting.Drain, Hooks: n.office, Bars: n.barring(), Keys: n.barring(),
		Corrections: corrections{n.ledger, n.boards}, Days: n.ledger, Now: n.now, Down: unavailable, Logger: n.log,
	}
}

// desk is where operators deal with tasks: settlement tries its own.
func (n *node) desk() taskqueue.TaskActions {
	return taskqueue.NewAdmin(n.ledger, map[string]taskqueue.TaskActions{taskqueue.Settle: n.settler})
}

// admin gives whom a token of the role admin speaks for.
func (n *node) admin(ctx context.Context, token string) (string, error) {
	claims, err := n.identity.Verify(ctx, token)
	if err == nil && claims.Role != identity.RoleAdmin {
		err = identity.ErrTokenRole
	}
	return claims.Subject, err
}

// corrections takes results back, in the ledger and then on the boards. It
// implements ops.Corrections.
type corrections struct {
	ledger *ledger.Ledger
	boards settle.Boards
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
