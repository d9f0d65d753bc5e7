package identity

import (
	"context"
	"errors"

	"laststand/internal/nickname"
)

// parseName parses a requested nickname and checks it against the game's refused words.
// Errors wrap nickname.ErrInvalid.
func (r *Registry) parseName(game, raw string) (nickname.Name, error) {
	n, err := nickname.Parse(raw)
	if err == nil {
		err = r.Words[game].Refuse(n)
	}
	switch {
	case errors.Is(err, nickname.ErrWord):
		r.metrics.refused.WithLabelValues(game, reasonWord).Inc()
	case err != nil:
		r.metrics.refused.WithLabelValues(game, reasonInvalid).Inc()
	}
	return n, err
}

// checkClaimable parses a nickname that the requester may claim. It returns a
// *TakenError if the nickname is reserved for another.
func (r *Registry) checkClaimable(ctx context.Context, game, raw string, requester Requester) (nickname.Name, error) {
	n, err := r.parseName(game, raw)
	if err == nil && r.isReservedForOthers(ctx, game, n, requester) {
		err = r.takenError(ctx, game, n, requester, reasonOffered)
	}
	return n, err
}

// takenError returns the error for a nickname that is taken or reserved: a *TakenError
// with suggestions, or the error of the search for suggestions.
func (r *Registry) takenError(ctx context.Context, game string, n nickname.Name, requester Requester, reason string) error {
	r.metrics.refused.WithLabelValues(game, reason).Inc()
	others, err := r.suggest(ctx, game, n, requester)
	if err != nil {
		return err
	}
	return &TakenError{Suggestions: others}
}
