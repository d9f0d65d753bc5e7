package identity

import (
	"context"
	"errors"

	"laststand/internal/nickname"
)

// wish reads a nickname that somebody wants in a game. Errors wrap
// nickname.ErrInvalid.
func (r *Registry) wish(game, raw string) (nickname.Name, error) {
	n, err := nickname.Parse(raw)
	if err == nil {
		err = r.Words[game].Refuse(n)
	}
	switch {
	case errors.Is(err, nickname.ErrWord):
		r.wishes.refused.WithLabelValues(game, reasonWord).Inc()
	case err != nil:
		r.wishes.refused.WithLabelValues(game, reasonInvalid).Inc()
	}
	return n, err
}

// claimable is a wish that the asker may claim: a *TakenError where it was just
// suggested to somebody else.
func (r *Registry) claimable(ctx context.Context, game, raw string, who Asker) (nickname.Name, error) {
	n, err := r.wish(game, raw)
	if err == nil && r.keptForOthers(ctx, game, n, who) {
		err = r.taken(ctx, game, n, who, reasonOffered)
	}
	return n, err
}

// taken is the refusal of a nickname that another has.
func (r *Registry) taken(ctx context.Context, game string, n nickname.Name, who Asker, reason string) error {
	r.wishes.refused.WithLabelValues(game, reason).Inc()
	others, err := r.suggest(ctx, game, n, who)
	if err != nil {
		return err
	}
	return &TakenError{Suggestions: others}
}
