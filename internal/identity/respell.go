package identity

import (
	"context"
	"errors"

	"laststand/internal/nickname"
)

// Respell brings the nicknames that the ledger has up to the rules in force. It
// is called before anything is claimed by them. Of two nicknames that count as
// one from then on the older is protected; the other stays with its player, and
// is logged and counted. Where the ledger's rules are newer nothing changes, and
// it is logged that no nickname can be claimed here.
func (r *Registry) Respell(ctx context.Context) error {
	bare, err := r.Names.Respell(ctx)
	for game, n := range bare {
		r.Logger.WarnContext(ctx, "nicknames count as the same as older ones by the rules in force; their players keep them, and others may claim the like",
			"game", game, "nicknames", n)
		if r.keys.has(game) {
			r.wishes.unprotected.WithLabelValues(game).Add(float64(n))
		}
	}
	if r.outdated(ctx, err) {
		return nil // who is known can play here
	}
	return err
}

// outdated says whether an error is that the ledger's nicknames are spelt by newer
// rules than this program's, which will not change until it is replaced. It is
// logged once.
func (r *Registry) outdated(ctx context.Context, err error) bool {
	if !errors.Is(err, ErrOldRules) {
		return false
	}
	if r.old.CompareAndSwap(false, true) {
		r.wishes.outdated.Set(1)
		r.Logger.WarnContext(ctx, "the ledger's nicknames are spelt by newer rules than this program's: it gives none out, and so takes no new players; replace it by a newer one",
			"rules", nickname.RulesVersion)
	}
	return true
}

// spelt counts a claim that was refused for the rules of this program.
func (r *Registry) spelt(ctx context.Context, game string, err error) error {
	if r.outdated(ctx, err) {
		r.wishes.refused.WithLabelValues(game, reasonRules).Inc()
	}
	return err
}
