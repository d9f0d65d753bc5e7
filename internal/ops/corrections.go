package ops

import (
	"context"
	"errors"
	"net/http"
)

// ErrNoResult reports a correction of a match or player without a result in the ledger.
var ErrNoResult = errors.New("the ledger has no such match, or the match no such player")

// ErrErasing reports a correction that must wait until a player of the match is erased.
var ErrErasing = errors.New("a player of this match is being erased; retry in a few seconds")

// Correction cancels the result of one player of a match, or of all.
type Correction struct {
	Game, Match string
	Player      string // "": all players, and their teams
	Reason      string
	By          string // subject of the token
}

// correction is the body of a request for a Correction.
type correction struct {
	Match  string `json:"match" need:"true"`
	Player string `json:"player,omitempty"`
	Reason string `json:"reason" need:"true"`
}

// Corrections cancels results. Correct returns the number of ledger rows that it
// cancelled, 0 if an earlier call did. Errors: ErrNoResult, ErrErasing.
type Corrections interface {
	Correct(ctx context.Context, c Correction) (rows int, err error)
}

// maxReason bounds a correction's reason, in bytes.
const maxReason = 500

// corrected says how many rows of the ledger a correction cancelled.
type corrected struct {
	Rows int `json:"rows"`
}

func (a *api) postCorrection(w http.ResponseWriter, r *request) error {
	var body correction
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	if body.Match == "" || body.Reason == "" || len(body.Reason) > maxReason {
		return badRequest("give a match and a reason of 1 to %d bytes", maxReason)
	}
	c := Correction{Game: r.game, Match: body.Match, Player: body.Player, Reason: body.Reason, By: r.actor}
	ctx, cancel := r.within()
	defer cancel()
	rows, err := a.Corrections.Correct(ctx, c)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "results disqualified", "game", c.Game, "match", c.Match, "player", c.Player, "reason", c.Reason, "actor", c.By, "rows", rows)
	return answer(w, http.StatusOK, corrected{rows})
}
