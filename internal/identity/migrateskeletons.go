package identity

import (
	"context"
	"errors"

	"laststand/internal/nickname"
)

// MigrateSkeletons applies the current rules to the nicknames in the ledger. It must
// run before a nickname is claimed. If two nicknames are equal by the new rules, the
// older one is protected. The other player keeps the name without protection, which is
// logged and counted. If the ledger's rules are newer, nothing changes, and it logs
// that this node can give out no nickname.
func (r *Registry) MigrateSkeletons(ctx context.Context) error {
	bare, err := r.Names.MigrateSkeletons(ctx)
	for game, n := range bare {
		r.Logger.WarnContext(ctx, "nicknames count as the same as older ones by the rules in force; their players keep them, and others may claim the like",
			"game", game, "nicknames", n)
		if r.keys.has(game) {
			r.metrics.unprotected.WithLabelValues(game).Add(float64(n))
		}
	}
	if r.checkOutdated(ctx, err) {
		return nil // known players can play at this node
	}
	return err
}

// checkOutdated returns true if the error means that the ledger has newer rules than
// this program. It logs that once. Only a newer program changes it.
func (r *Registry) checkOutdated(ctx context.Context, err error) bool {
	if !errors.Is(err, ErrOldRules) {
		return false
	}
	if r.outdated.CompareAndSwap(false, true) {
		r.metrics.outdated.Set(1)
		r.Logger.WarnContext(ctx, "the ledger's nicknames are spelt by newer rules than this program's: it gives none out, and so takes no new players; replace it by a newer one",
			"rules", nickname.RulesVersion)
	}
	return true
}

// countOutdated counts a claim that was refused because this program's rules are too
// old.
func (r *Registry) countOutdated(ctx context.Context, game string, err error) error {
	if r.checkOutdated(ctx, err) {
		r.metrics.refused.WithLabelValues(game, reasonRules).Inc()
	}
	return err
}
