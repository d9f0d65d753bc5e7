package identity

import (
	"context"
	"errors"

	"laststand/internal/nickname"
)

// Availability says whether a nickname is free, and if not, which three others
// are; none where three could not be found.
type Availability struct {
	Nickname    string // as it would be shown
	Available   bool
	Suggestions []string
}

// Available says whether an asker could claim a nickname in a game, to the
// knowledge of this node: only a claim decides. Errors wrap ErrNoGame or
// nickname.ErrInvalid.
func (r *Registry) Available(ctx context.Context, game, wish string, who Asker) (Availability, error) {
	if !r.keys.has(game) {
		return Availability{}, ErrNoGame
	}
	n, err := r.wish(game, wish)
	if err != nil {
		return Availability{}, err
	}
	free, err := r.free(ctx, game, n)
	if err != nil {
		return Availability{}, err
	}
	a := Availability{Nickname: n.Display, Available: free && !r.keptForOthers(ctx, game, n, who)}
	if !a.Available {
		a.Suggestions, err = r.suggest(ctx, game, n, who)
	}
	return a, err
}

// Rename claims a nickname for the player that claims speak of, frees the old
// one and gives the new one as it is shown. Errors wrap those of Ensure,
// nickname.ErrInvalid or ErrNicknameTaken (a *TakenError).
func (r *Registry) Rename(ctx context.Context, c Claims, wish string, who Asker) (string, error) {
	p, err := r.Ensure(ctx, c)
	if err != nil {
		return "", err
	}
	who.Player = p.ID
	n, err := r.claimable(ctx, p.Game, wish, who)
	if err != nil {
		return "", err
	}
	err = r.Names.Rename(ctx, p.Game, p.ID, n.Display, n.Skeleton)
	if errors.Is(err, ErrNicknameTaken) {
		r.known[p.Game].add(n)
		return "", r.taken(ctx, p.Game, n, who, reasonTaken)
	}
	if err != nil {
		return "", err
	}
	known := r.known[p.Game]
	if known.addSkeleton(n.Skeleton) {
		known.stale.Add(1) // the former one
	}
	return n.Display, nil
}

// free asks the ledger only about nicknames that the view does not rule out.
func (r *Registry) free(ctx context.Context, game string, n nickname.Name) (bool, error) {
	known := r.known[game]
	seen := known.look(n)
	if seen == notIn {
		known.learn(seen, false)
		return true, nil
	}
	taken, err := r.Names.NicknameTaken(ctx, game, n.Skeleton)
	if err == nil {
		known.learn(seen, taken)
	}
	return !taken, err
}
