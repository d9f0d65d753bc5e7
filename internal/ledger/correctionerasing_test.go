package ledger

import (
	"errors"
	"testing"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

func (l *Ledger) taking(t *testing.T, id, player string) error {
	t.Helper()
	_, err := l.Corrections.Disqualify(t.Context(), Disqualification{Game: game, Match: id, Player: player, Reason: "r", By: "b"})
	return err
}

// Corrections of an erased player's results have the opaque id, behind the moves. The
// former id is in no match.
func TestCorrectionsFollowAnErasure(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addPlayer(t, l, erasedSubjectID)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, erasedSubjectID, "other"), duel("m2", 2, "other", erasedSubjectID))))(t)
		disqualify(t, l, "m2", erasedSubjectID)
		testenv.NoError(t, l.Accounts.Erase(t.Context(), game, erasedSubjectID))
		opaque := standingsOf(t, l, "m1")[0].Player
		if err := l.taking(t, "m1", erasedSubjectID); !errors.Is(err, match.ErrNotFound) {
			t.Errorf("of the former id: %v", err)
		}
		done := disqualify(t, l, "m1", "")
		rows := testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, readHead(t, l).Pos-3, 10))(t)
		if done != 2 || rows[0].Kind != leaderboard.MoveRow || rows[1].Holder != opaque || rows[2].Holder != "other" {
			t.Errorf("done %+v, rows %+v", done, rows)
		}
		checkSums(t, l)
	})
}

// A player whose results of a past day were all corrected has no sum on that day. The
// erasure renames the player on that day's leaderboard too.
func TestErasureFollowsCorrectionsOfAWholeDay(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		addPlayer(t, l.Ledger, erasedSubjectID)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, erasedSubjectID, "other"))))(t)
		l.setClock(t, 2*dayMS)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m2", 2, "other", "third"))))(t)
		testenv.Need(l.Days.SumDays(t.Context(), game))(t)
		disqualify(t, l.Ledger, "m1", erasedSubjectID)
		head := readHead(t, l.Ledger)
		testenv.NoError(t, l.Accounts.Erase(t.Context(), game, erasedSubjectID))
		moves := testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, head.Pos, 10))(t)
		if len(moves) != 2 || moves[0].TargetDay != "" || moves[1].TargetDay != "1970-01-01" {
			t.Errorf("moves %+v", moves)
		}
		checkSums(t, l.Ledger)
	})
}

// Corrections and an erasure run at the same time. No correction is lost or has the former
// id, and each result is corrected once.
func TestCorrectionsDuringAnErasure(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		addPlayer(t, l, erasedSubjectID)
		ids := names("m", 12)
		for i, id := range ids {
			testenv.Need(l.Results.Commit(t.Context(), results(duel(id, int64(i), erasedSubjectID, "other"))))(t)
		}
		runConcurrently(len(ids)+1, func(i int) {
			if i == len(ids)/2 {
				if err := l.Accounts.Erase(t.Context(), game, erasedSubjectID); err != nil {
					t.Error(err)
				}
				return
			}
			if err := l.taking(t, ids[i%len(ids)], ""); err != nil {
				t.Error(err)
			}
		})
		checkSums(t, l)
		for testenv.Need(l.Accounts.ForgetErased(t.Context(), 0))(t) {
		}
		if found := rowsWith(t, l, erasedSubjectID); len(found) > 0 {
			t.Errorf("rows %q", found)
		}
		if got := totalMatches(t, l); got != 2 {
			t.Errorf("%d results count, want those of one match", got)
		}
	})
}

// A match that counts must have entries. If it has none, Disqualify returns an error.
func TestDisqualifyFailsIfACountingMatchHasNoEntries(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1", "p2"))))(t)
		testenv.Need(l.exec(t.Context(), `DELETE FROM entries WHERE match_id = 'm1'`))(t)
		for _, player := range []string{"p1", ""} {
			if err := l.taking(t, "m1", player); err == nil {
				t.Errorf("of %q: no error", player)
			}
		}
	})
}
