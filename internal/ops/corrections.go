package ops

import (
	"context"
	"errors"
	"net/http"
)

// ErrNoResult says that a correction is of a match or player that the ledger
// has no result of.
var ErrNoResult = errors.New("the ledger has no such match, or the match no such player")

// ErrErasing says that a correction has to wait for the erasure of a player of the
// match.
var ErrErasing = errors.New("a player of this match is being erased; retry in a few seconds")

// Correction takes back what a match gave a player, or all that it gave.
type Correction struct {
	Game, Match string
	Player      string // "": all players, and their teams
	Reason      string
	By          string // whom the token speaks for
}

// correction is the body that asks for one.
type correction struct {
	Match  string `json:"match" need:"true"`
	Player string `json:"player,omitempty"`
	Reason string `json:"reason" need:"true"`
}

// Corrections takes results back. Correct counts the rows of the ledger that
// it took back, 0 where that had been done before. ErrNoResult, ErrErasing.
type Corrections interface {
	Correct(ctx context.Context, c Correction) (rows int, err error)
}

// maxReason bounds a correction's reason, in bytes.
const maxReason = 500

// corrected says how many rows were taken back.
type corrected struct {
	Rows int `json:"rows"`
}

func (a *api) postCorrection(w http.ResponseWriter, r *request) error {
	var body correction
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	if body.Match == "" || body.Reason == "" || len(body.Reason) > maxReason {
		return badRequest("match and reason: the match's id, and 1 to %d bytes that say why and are kept", maxReason)
	}
	c := Correction{Game: r.game, Match: body.Match, Player: body.Player, Reason: body.Reason, By: r.by}
	ctx, cancel := r.within()
	defer cancel()
	rows, err := a.Corrections.Correct(ctx, c)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "results were taken back", "game", c.Game, "match", c.Match, "player", c.Player, "reason", c.Reason, "by", c.By, "rows", rows)
	return answer(w, http.StatusOK, corrected{rows})
}
