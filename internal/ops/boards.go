package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"laststand/internal/answers"
	"laststand/internal/httpserver"
	"laststand/internal/leaderboard"
)

// Leaderboards verifies and rebuilds the leaderboards of games; leaderboard.Applier
// implements it. Verify calls report for each difference from the ledger. Rebuild starts
// to build new leaderboards, while the live ones stay in use. IsBuilding returns true if a
// rebuild is running.
type Leaderboards interface {
	Verify(ctx context.Context, game string, report func(leaderboard.Difference)) (leaderboard.VerifyResult, error)
	Rebuild(ctx context.Context, game string) error
	IsBuilding(ctx context.Context, game string) (bool, error)
}

// Correction cancels the result of one player of a match, or of all.
type Correction struct {
	Game, Match string
	Player      string // "": all players, and their teams
	Reason      string
	By          string // subject of the operator's token
}

type correctionBody struct {
	Match  string `json:"match" need:"true"`
	Player string `json:"player,omitempty"`
	Reason string `json:"reason" need:"true"`
}

// Corrections changes results.
type Corrections interface {
	// Correct cancels results. It returns the number of ledger rows that it has cancelled, 0
	// if an earlier call has cancelled them. It can return ErrNoResult.
	Correct(ctx context.Context, correction Correction) (rows int, err error)
	// MakeVoid counts a match again without a question. isNew is false if an earlier call has
	// done so. It can return match.ErrNotFound and errors of package answers.
	MakeVoid(ctx context.Context, void answers.Void) (isNew bool, err error)
}

// Days confirms days; *ledger.Days implements it.
type Days interface {
	// ConfirmDay allows the days of a game to start, up to and including this one, even
	// if the database's clock differs from the other clocks.
	ConfirmDay(ctx context.Context, game, day string) error
}

// VerifyLine is one line of the response to a verification: a difference, or as the last
// line either the totals or the error that ended the verification.
type VerifyLine struct {
	*leaderboard.Difference
	Verified *leaderboard.VerifyResult `json:"verified,omitempty"`
	Error    *httpserver.Problem       `json:"error,omitempty"`
}

// Rebuild is the response that says whether a rebuild is running.
type Rebuild struct {
	IsBuilding bool `json:"building"`
}

// Corrected has the number of ledger rows that a correction has cancelled.
type Corrected struct {
	Rows int `json:"rows"`
}

// Voided says whether a request has made a question void, or an earlier one.
type Voided struct {
	IsNew bool `json:"new"`
}

func (h boardRoutes) routes() []Operation {
	return []Operation{
		{"GET", gamePath + "/leaderboards/verify", h.verify, nil, false, "Compare the leaderboards with the ledger: a line of JSON per difference, last `verified` or `error`."},
		{"POST", gamePath + "/leaderboards/rebuild", h.rebuild, nil, false, "Start to rebuild the leaderboards: 202."},
		{"GET", gamePath + "/leaderboards/rebuild", h.getRebuild, nil, false, "Report whether a rebuild is running."},
		{"POST", gamePath + "/corrections", withBody(h.correct), nil, false, "Take back what `match` gave `player`, or all players, for a `reason`."},
		{"PUT", gamePath + "/matches/{match}/voids/{question}", withReason(h.makeVoid), nil, false, "Count a settled match again without a question, for a `reason`."},
		{"PUT", gamePath + "/days/{day}/confirmation", h.confirmDay, nil, false, "Confirm that a day may begin."},
	}
}

// lineTimeout is how long a client may take to receive a line of a verification.
const lineTimeout = 30 * time.Second

// verify compares leaderboards with the ledger. It sends each difference immediately, as one JSON
// object per line. The response has no time limit, but each line has one. If the client
// disconnects, the context of the request ends.
func (h boardRoutes) verify(r *request) (any, error) {
	control, lines, isStarted := http.NewResponseController(r.w), json.NewEncoder(r.w), false
	_ = control.SetReadDeadline(time.Time{}) // an error means the response writer of a test
	_ = control.SetWriteDeadline(time.Time{})
	write := func(line VerifyLine) {
		if !isStarted {
			r.w.Header().Set("Content-Type", "application/x-ndjson")
			isStarted = true
		}
		_ = control.SetWriteDeadline(time.Now().Add(lineTimeout))
		_ = lines.Encode(line)
		_ = control.Flush()
	}
	totals, err := h.Leaderboards.Verify(r.Context(), r.game, func(diff leaderboard.Difference) { write(VerifyLine{Difference: &diff}) })
	switch {
	case err != nil && !isStarted:
		return nil, err
	case err != nil:
		problem := problemFor(err, h.IsStoreDown)
		write(VerifyLine{Error: &problem})
	default:
		write(VerifyLine{Verified: &totals})
	}
	return httpserver.Written(http.StatusOK), nil
}

func (h boardRoutes) rebuild(r *request) (any, error) {
	return httpserver.Response{Status: http.StatusAccepted, Body: Rebuild{true}}, h.Leaderboards.Rebuild(r.ctx, r.game)
}

func (h boardRoutes) getRebuild(r *request) (any, error) {
	inProgress, err := h.Leaderboards.IsBuilding(r.ctx, r.game)
	return Rebuild{inProgress}, err
}

func (h boardRoutes) correct(r *request, body correctionBody) (any, error) {
	if body.Match == "" || body.Reason == "" || len(body.Reason) > maxReason {
		return nil, badRequest("give a match and a reason of 1 to %d bytes", maxReason)
	}
	rows, err := h.Corrections.Correct(r.ctx, Correction{Game: r.game, Match: body.Match, Player: body.Player, Reason: body.Reason, By: r.actor})
	return Corrected{rows}, err
}

func (h boardRoutes) makeVoid(r *request, reason string) (any, error) {
	question, err := strconv.Atoi(r.PathValue("question"))
	if err != nil || question < 0 {
		return nil, badRequest("question %q is not a number from 0", r.PathValue("question"))
	}
	isNew, err := h.Corrections.MakeVoid(r.ctx, answers.Void{Game: r.game, Match: r.PathValue("match"), Question: question, Reason: reason, By: r.actor})
	return Voided{isNew}, err
}

func (h boardRoutes) confirmDay(r *request) (any, error) {
	day := r.PathValue("day")
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return nil, badRequest("day %q is not a date; use YYYY-MM-DD", day)
	}
	return nil, h.Days.ConfirmDay(r.ctx, r.game, day)
}
