package ops

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

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

// VerifyLine is one line of the response to a verification: a difference, or as the last
// line either the totals or the error that ended the verification.
type VerifyLine struct {
	*Difference
	Verified *VerifyTotals `json:"verified,omitempty"`
	Error    *Problem      `json:"error,omitempty"`
}

// Difference is one field in which a leaderboard differs from the ledger.
type Difference struct {
	Kind        leaderboard.Kind `json:"kind"`
	Window      string           `json:"window"`
	ID          string           `json:"id,omitempty"` // of the entry; absent: the leaderboard as a whole
	Field       string           `json:"field"`
	Ledger      string           `json:"ledger"`      // value by the ledger
	Leaderboard string           `json:"leaderboard"` // value on the leaderboard
}

// VerifyTotals is the last line of a verification without an error.
type VerifyTotals struct {
	Leaderboards int64 `json:"leaderboards"`
	Entries      int64 `json:"entries"`
	Differences  int64 `json:"differences"`
	Position     int64 `json:"position"` // ledger position of the comparison
}

// verifyLeaderboards compares leaderboards with the ledger. It sends each difference
// immediately, as one JSON object per line.
func (a *api) verifyLeaderboards(w http.ResponseWriter, r *request) error {
	lines := &lineWriter{w: w, control: http.NewResponseController(w)}
	lines.removeDeadlines()
	totals, err := a.Leaderboards.Verify(r.Context(), r.game, func(diff leaderboard.Difference) {
		lines.write(VerifyLine{Difference: &Difference{diff.Board.Kind, diff.Board.Span, diff.Holder, diff.Field, diff.Want, diff.Have}})
	})
	switch {
	case err != nil && !lines.started:
		return err
	case err != nil:
		problem := newProblem(a.toAPIError(err))
		lines.write(VerifyLine{Error: &problem})
	default:
		lines.write(VerifyLine{Verified: &VerifyTotals{totals.Boards, totals.Entries, totals.Differences, totals.Pos}})
	}
	return nil
}

// lineWriter sends a response line by line. The response has no time limit, but each line
// has one.
type lineWriter struct {
	w       http.ResponseWriter
	control *http.ResponseController
	started bool
}

// lineTimeout is how long a client may take to receive a line.
const lineTimeout = 30 * time.Second

// removeDeadlines removes the server's deadlines for the request. It ignores errors: the
// response writer of a test has no deadlines.
func (l *lineWriter) removeDeadlines() {
	_ = l.control.SetReadDeadline(time.Time{})
	_ = l.control.SetWriteDeadline(time.Time{})
}

// write sends a line immediately. It ignores errors: if the client disconnects, the
// context of the request ends.
func (l *lineWriter) write(line VerifyLine) {
	if !l.started {
		l.w.Header().Set("Content-Type", "application/x-ndjson")
		l.started = true
	}
	_ = l.control.SetWriteDeadline(time.Now().Add(lineTimeout))
	_ = json.NewEncoder(l.w).Encode(line)
	_ = l.control.Flush()
}

// Rebuild is the response that says whether a rebuild is running.
type Rebuild struct {
	IsBuilding bool `json:"building"`
}

func (a *api) rebuildLeaderboards(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	if err := a.Leaderboards.Rebuild(ctx, r.game); err != nil {
		return err
	}
	return writeJSON(w, http.StatusAccepted, Rebuild{true})
}

func (a *api) getRebuild(w http.ResponseWriter, r *request) error {
	ctx, cancel := r.callContext()
	defer cancel()
	inProgress, err := a.Leaderboards.IsBuilding(ctx, r.game)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Rebuild{inProgress})
}
