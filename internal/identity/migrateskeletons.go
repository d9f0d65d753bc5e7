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
func (r *Registry) MigrateSkeletons(ctx context.Context) error {
	conflicts, err := r.Names.MigrateSkeletons(ctx)
	for game, n := range conflicts {
		r.Logger.WarnContext(ctx, "nicknames equal older ones by the current rules; their players keep them, and others may claim equal ones",
			"game", game, "nicknames", n)
		if r.keys.has(game) {
			r.metrics.conflicts.WithLabelValues(game).Add(float64(n))
		}
	}
	if r.checkOutdated(ctx, err) {
		return nil // known players can still play on this node
	}
	return err
}

// checkOutdated returns true if the error means that the ledger has newer rules than
// this program. It logs the first such error. This node stays outdated until an operator
// replaces its program.
func (r *Registry) checkOutdated(ctx context.Context, err error) bool {
	if !errors.Is(err, ErrOldRules) {
		return false
	}
	if r.outdated.CompareAndSwap(false, true) {
		r.metrics.outdated.Set(1)
		r.Logger.WarnContext(ctx, "the ledger's nicknames have newer rules than this program: it assigns no nicknames and accepts no new players; install a newer program",
			"rules", nickname.RulesVersion)
	}
	return true
}

// countOutdated counts a claim if err says that this program's rules are too old. It
// returns err.
func (r *Registry) countOutdated(ctx context.Context, game string, err error) error {
	if r.checkOutdated(ctx, err) {
		r.metrics.refusals.WithLabelValues(game, refusalOldRules).Inc()
	}
	return err
}
