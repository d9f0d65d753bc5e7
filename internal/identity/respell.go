package identity

import "context"

// Respell brings the nicknames that the ledger has up to the rules in force. It
// is called before anything is claimed by them. Of two nicknames that count as
// one from then on the older is protected; the other stays with its player, and
// is logged and counted.
func (r *Registry) Respell(ctx context.Context) error {
	bare, err := r.Names.Respell(ctx)
	for game, n := range bare {
		r.Logger.WarnContext(ctx, "nicknames count as the same as older ones by the rules in force; their players keep them, and others may claim the like",
			"game", game, "nicknames", n)
		if r.keys.has(game) {
			r.wishes.unprotected.WithLabelValues(game).Add(float64(n))
		}
	}
	return err
}
