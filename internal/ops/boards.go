package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"laststand/internal/leaderboard"
)

// Boards looks after the boards of games, as leaderboard.Applier does. Rebuild
// asks for a build beside the live boards; Building says whether one is under
// way.
type Boards interface {
	Verify(ctx context.Context, game string, report func(leaderboard.Difference)) (leaderboard.Verified, error)
	Rebuild(ctx context.Context, game string) error
	Building(ctx context.Context, game string) (bool, error)
}

// verdict is a line of a verification: a difference, and last either what was
// verified or why that ended early.
type verdict struct {
	*difference
	Verified *verified `json:"verified,omitempty"`
	Error    *problem  `json:"error,omitempty"`
}

// difference is where a board is not what the ledger says.
type difference struct {
	Kind   leaderboard.Kind `json:"kind"`
	Span   string           `json:"span"`
	Holder string           `json:"holder,omitempty"`
	What   string           `json:"what"`
	Want   string           `json:"want"` // by the ledger
	Have   string           `json:"have"`
}

type verified struct {
	Boards      int64 `json:"boards"`
	Entries     int64 `json:"entries"`
	Differences int64 `json:"differences"`
	Pos         int64 `json:"pos"` // the ledger position that both stood at
}

// verifyBoards compares boards with the ledger, and says each difference as
// soon as it is found: a line of JSON each.
func (a *api) verifyBoards(w http.ResponseWriter, r *request) error {
	out := &lines{w: w, control: http.NewResponseController(w)}
	out.unhurried()
	found, err := a.Boards.Verify(r.Context(), r.game, func(d leaderboard.Difference) {
		out.write(verdict{difference: &difference{d.Board.Kind, d.Board.Span, d.Holder, d.What, d.Want, d.Have}})
	})
	switch {
	case err != nil && !out.begun:
		return err
	case err != nil:
		p := problemOf(a.refusalOf(err))
		out.write(verdict{Error: &p})
	default:
		out.write(verdict{Verified: &verified{found.Boards, found.Entries, found.Differences, found.Pos}})
	}
	return nil
}

// lines is an answer that grows line by line for as long as it takes.
type lines struct {
	w       http.ResponseWriter
	control *http.ResponseController
	begun   bool
}

// lineWithin is how long a client may take to accept a line.
const lineWithin = 30 * time.Second

// unhurried lifts the server's bounds on a whole request. What it is served by
// may have none, as in tests: then nothing is to be lifted.
func (l *lines) unhurried() {
	_ = l.control.SetReadDeadline(time.Time{})
	_ = l.control.SetWriteDeadline(time.Time{})
}

// write sends a line at once. A client that went away ends the request's context.
func (l *lines) write(v verdict) {
	if !l.begun {
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.begun = true
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(lineWithin))
	_ = json.NewEncoder(l.w).Encode(v)
	_ = l.control.Flush()
}

// building says whether boards are being built.
type building struct {
	Building bool `json:"building"`
}

func (a *api) rebuildBoards(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	if err := a.Boards.Rebuild(ctx, r.game); err != nil {
		return err
	}
	return answer(w, http.StatusAccepted, building{true})
}

func (a *api) getRebuild(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.within()
	defer cancel()
	under, err := a.Boards.Building(ctx, r.game)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, building{under})
}
