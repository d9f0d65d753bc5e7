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
	views      map[string]*nameView // by game
	holdsUntil *atomic.Int64        // until when held nicknames are checked, epoch ms; see LedgerWentBack
	metrics    nicknameMetrics
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
