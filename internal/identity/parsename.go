package identity

import (
	"context"
	"errors"

	"laststand/internal/nickname"
)

// parseName parses a requested nickname and checks it against the game's refused words.
// Errors wrap nickname.ErrInvalid.
func (r *Registry) parseName(game, raw string) (nickname.Name, error) {
	name, err := nickname.Parse(raw)
	if err == nil {
		err = r.Words[game].Refuse(name)
	}
	switch {
	case errors.Is(err, nickname.ErrWord):
		r.metrics.refusals.WithLabelValues(game, refusalWord).Inc()
	case err != nil:
		r.metrics.refusals.WithLabelValues(game, refusalInvalid).Inc()
	}
	return name, err
}

// checkClaimable parses a nickname that the requester may claim. It returns a
// *TakenError if the nickname is reserved for another.
func (r *Registry) checkClaimable(ctx context.Context, game, raw string, requester Requester) (nickname.Name, error) {
	name, err := r.parseName(game, raw)
	if err == nil && r.isReservedForOthers(ctx, game, name, requester) {
		err = r.takenError(ctx, game, name, requester, refusalReserved)
	}
	return name, err
}

// takenError returns the error for a nickname that is taken or reserved: a *TakenError
// with suggestions, or the error of the search for suggestions.
func (r *Registry) takenError(ctx context.Context, game string, name nickname.Name, requester Requester, reason string) error {
	r.metrics.refusals.WithLabelValues(game, reason).Inc()
	suggested, err := r.suggest(ctx, game, name, requester)
	if err != nil {
		return err
	}
	return &TakenError{Suggestions: suggested}
}
