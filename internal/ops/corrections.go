package ops

import (
	"context"
	"errors"
	"net/http"
)

// ErrNoResult means that the ledger has no result of the match or player to correct.
var ErrNoResult = errors.New("the ledger has no such match, or the match no such player")

// ErrErasing means that the correction must wait, because a player of the match is being
// erased.
var ErrErasing = errors.New("a player of this match is being erased; retry in a few seconds")

// Correction cancels the result of one player of a match, or of all.
type Correction struct {
	Game, Match string
	Player      string // "": all players, and their teams
	Reason      string
	By          string // subject of the operator's token
}

// correctionBody is the body of a request that cancels results.
type correctionBody struct {
	Match  string `json:"match" need:"true"`
	Player string `json:"player,omitempty"`
	Reason string `json:"reason" need:"true"`
}

// Corrections cancels results. Correct returns the number of ledger rows that it has
// cancelled, 0 if an earlier call has cancelled them. It can return ErrNoResult and
// ErrErasing.
type Corrections interface {
	Correct(ctx context.Context, correction Correction) (rows int, err error)
}

// maxReason is the maximum length of a reason, in bytes.
const maxReason = 500

// Corrected has the number of ledger rows that a correction has cancelled.
type Corrected struct {
	Rows int `json:"rows"`
}

func (a *api) postCorrection(w http.ResponseWriter, r *request) error {
	var body correctionBody
	if err := readObject(w, r.Request, &body); err != nil {
		return err
	}
	if body.Match == "" || body.Reason == "" || len(body.Reason) > maxReason {
		return badRequest("give a match and a reason of 1 to %d bytes", maxReason)
	}
	correction := Correction{Game: r.game, Match: body.Match, Player: body.Player, Reason: body.Reason, By: r.actor}
	ctx, cancel := r.callContext()
	defer cancel()
	rows, err := a.Corrections.Correct(ctx, correction)
	if err != nil {
		return err
	}
	a.Logger.InfoContext(ctx, "results disqualified", "game", correction.Game, "match", correction.Match, "player", correction.Player, "reason", correction.Reason, "actor", correction.By, "rows", rows)
	return writeJSON(w, http.StatusOK, Corrected{rows})
}
