package identity

import (
	"context"
	"errors"
	"sync/atomic"

	"laststand/internal/nickname"
)

// nicknames checks and suggests nicknames.
type nicknames struct {
	Config
	views    map[string]*nameView // by game
	metrics  nicknameMetrics
	outdated atomic.Bool // the ledger has nicknames of newer rules than this program
}

// parseName parses a requested nickname and checks it against the game's refused words.
// Errors wrap nickname.ErrInvalid.
func (n *nicknames) parseName(game, raw string) (nickname.Name, error) {
	name, err := nickname.Parse(raw)
	if err == nil {
		err = n.Words[game].Refuse(name)
	}
	switch {
	case errors.Is(err, nickname.ErrWord):
		n.metrics.refusals.WithLabelValues(game, refusalWord).Inc()
	case err != nil:
		n.metrics.refusals.WithLabelValues(game, refusalInvalid).Inc()
	}
	return name, err
}

// checkClaimable parses a nickname that the requester may claim. It returns a
// *TakenError if the nickname is reserved for another.
func (n *nicknames) checkClaimable(ctx context.Context, game, raw string, requester Requester) (nickname.Name, error) {
	name, err := n.parseName(game, raw)
	if err == nil && n.isReservedForOthers(ctx, game, name, requester) {
		err = n.takenError(ctx, game, name, requester, refusalReserved)
	}
	return name, err
}

// takenError returns the error for a nickname that is taken or reserved: a *TakenError
// with suggestions, or the error of the search for suggestions.
func (n *nicknames) takenError(ctx context.Context, game string, name nickname.Name, requester Requester, reason string) error {
	n.metrics.refusals.WithLabelValues(game, reason).Inc()
	suggested, err := n.suggest(ctx, game, name, requester)
	if err != nil {
		return err
	}
	return &TakenError{Suggestions: suggested}
}

// isFree returns true if no player has the nickname. It asks the ledger only if the
// nickname may be in the view.
func (n *nicknames) isFree(ctx context.Context, game string, name nickname.Name) (bool, error) {
	view := n.views[game]
	lookup := view.lookUp(name)
	if lookup == lookupAbsent {
		view.countLookup(lookup, false)
		return true, nil
	}
	taken, err := n.Names.NicknameTaken(ctx, game, name.Skeleton)
	if err == nil {
		view.countLookup(lookup, taken)
	}
	return !taken, err
}
