package identity

import (
	"context"
	"errors"
	"slices"

	"laststand/internal/nickname"
)

// Availability says whether a nickname is free, and if not, which three others
// are; none where three could not be found.
type Availability struct {
	Nickname    string // as it would be shown
	Available   bool
	Suggestions []string
}

// Available says whether a nickname is free in a game, to the knowledge of this
// node: only a claim decides. Errors wrap ErrNoGame or
// nickname.ErrInvalid.
func (r *Registry) Available(ctx context.Context, game, wish string) (Availability, error) {
	if !r.keys.has(game) {
		return Availability{}, ErrNoGame
	}
	n, err := nickname.Parse(wish)
	if err != nil {
		return Availability{}, err
	}
	free, err := r.free(ctx, game, n)
	if err != nil {
		return Availability{}, err
	}
	a := Availability{Nickname: n.Display, Available: free}
	if !free {
		a.Suggestions, err = r.suggest(ctx, game, n)
	}
	return a, err
}

// Rename claims a nickname for the player that claims speak of, frees the old
// one and gives the new one as it is shown. Errors wrap those of Ensure,
// nickname.ErrInvalid or ErrNicknameTaken (a *TakenError).
func (r *Registry) Rename(ctx context.Context, c Claims, wish string) (string, error) {
	n, err := nickname.Parse(wish)
	if err != nil {
		return "", err
	}
	p, err := r.Ensure(ctx, c)
	if err != nil {
		return "", err
	}
	err = r.Names.Rename(ctx, p.Game, p.ID, n.Display, n.Skeleton)
	if errors.Is(err, ErrNicknameTaken) {
		return "", r.taken(ctx, p.Game, n)
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

// taken is the refusal of a nickname that another player has.
func (r *Registry) taken(ctx context.Context, game string, n nickname.Name) error {
	r.known[game].add(n)
	others, err := r.suggest(ctx, game, n)
	if err != nil {
		return err
	}
	return &TakenError{Suggestions: others}
}

const (
	suggestions  = 3
	suggestTries = 20
)

func (r *Registry) suggest(ctx context.Context, game string, n nickname.Name) ([]string, error) {
	rng := newRand()
	var found []string
	for range suggestTries {
		other := nickname.Suggest(n, rng)
		if slices.Contains(found, other.Display) {
			continue
		}
		free, err := r.free(ctx, game, other)
		if err != nil {
			return nil, err
		}
		if free {
			found = append(found, other.Display)
		}
		if len(found) == suggestions {
			return found, nil
		}
	}
	return nil, nil
}
