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
// knowledge of this node: only a claim decides. Errors wrap ErrNoGame,
// nickname.ErrInvalid or, where it could tell by rules of before only, ErrOldRules.
func (r *Registry) Available(ctx context.Context, game, wish string, who Asker) (Availability, error) {
	if !r.keys.has(game) {
		return Availability{}, ErrNoGame
	}
	if r.old.Load() {
		return Availability{}, r.spelt(ctx, game, ErrOldRules)
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
// one and gives the new one as it is shown. Where the subject of the claims is the
// player's own id that is one statement, and that nobody bars the player has been
// seen to by Ensure. Errors wrap those of Ensure, nickname.ErrInvalid or ErrNicknameTaken (a *TakenError).
func (r *Registry) Rename(ctx context.Context, c Claims, wish string, who Asker) (string, error) {
	if err := r.plays(c); err != nil {
		return "", err
	}
	who.Player = c.Subject
	n, err := r.claimable(ctx, c.Game, wish, who)
	if err != nil {
		return "", err
	}
	err = r.Names.Rename(ctx, c.Game, c.Subject, n.Display, n.Skeleton)
	if errors.Is(err, ErrNotFound) { // no player yet, or an account's, or none any more
		p, refusal := r.Ensure(ctx, c)
		if refusal != nil {
			return "", refusal
		}
		who.Player = p.ID
		err = r.Names.Rename(ctx, c.Game, p.ID, n.Display, n.Skeleton)
	}
	return r.renamed(ctx, c.Game, n, who, err)
}

// renamed is what became of a claim.
func (r *Registry) renamed(ctx context.Context, game string, n nickname.Name, who Asker, err error) (string, error) {
	known := r.known[game]
	if errors.Is(err, ErrNicknameTaken) {
		known.add(n)
		return "", r.taken(ctx, game, n, who, reasonTaken)
	}
	if err != nil {
		return "", r.spelt(ctx, game, err)
	}
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
