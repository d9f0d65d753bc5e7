package identity

import (
	"context"
	"errors"

	"laststand/internal/nickname"
)

// MigrateSkeletons applies the current rules to the nicknames in the ledger. The caller
// must run it before a player can claim a nickname. If two nicknames are equal by the new
// rules, only the older one stays unique. The player with the other nickname keeps it, but
// others may claim an equal one; the server logs and counts this. If the ledger's rules are
// newer than this program's, nothing changes. MigrateSkeletons then logs that this node
// cannot assign nicknames, and returns nil.
func (n *nicknames) MigrateSkeletons(ctx context.Context) error {
	conflicts, err := n.Names.MigrateSkeletons(ctx)
	for game, count := range conflicts {
		n.Logger.WarnContext(ctx, "nicknames equal older ones by the current rules; their players keep them, and others may claim equal ones",
			"game", game, "nicknames", count)
		if n.Tokens.keys.has(game) {
			n.metrics.conflicts.WithLabelValues(game).Add(float64(count))
		}
	}
	if n.checkOutdated(ctx, err) {
		return nil // known players can still play on this node
	}
	return err
}

// checkOutdated returns true if the error means that the ledger has newer rules than
// this program. It logs the first such error. This node stays outdated until an operator
// replaces its program.
func (n *nicknames) checkOutdated(ctx context.Context, err error) bool {
	if !errors.Is(err, ErrOldRules) {
		return false
	}
	if n.outdated.CompareAndSwap(false, true) {
		n.metrics.outdated.Set(1)
		n.Logger.WarnContext(ctx, "the ledger's nicknames have newer rules than this program: it assigns no nicknames and accepts no new players; install a newer program",
			"rules", nickname.RulesVersion)
	}
	return true
}

// countOutdated counts a claim if err says that this program's rules are too old. It
// returns err.
func (n *nicknames) countOutdated(ctx context.Context, game string, err error) error {
	if n.checkOutdated(ctx, err) {
		n.metrics.refusals.WithLabelValues(game, refusalOldRules).Inc()
	}
	return err
}
