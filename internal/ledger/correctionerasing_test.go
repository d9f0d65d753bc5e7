package ledger

import (
	"errors"
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

func (l *Ledger) taking(t *testing.T, id, player string) error {
	t.Helper()
	_, err := l.Corrections.Disqualify(t.Context(), Disqualification{Game: game, Match: id, Player: player, Reason: "r", By: "b"})
	return err
}

// While an operator's player is being erased, corrections of its matches must wait:
// before the first step, in the middle, and before the last. After that they have the
// opaque id, behind the moves. Corrections of other players in the match do not wait.
func TestCorrectionsWaitForErasures(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openLedger(t, db)
		addPlayer(t, l, erasedSubjectID)
		buzzer := duel("m2", 2, "other", erasedSubjectID)
		buzzer.Mode, buzzer.Firsts = match.Buzzer, []match.First{{Player: erasedSubjectID}}
		must(l.Results.Commit(t.Context(), results(duel("m1", 1, erasedSubjectID, "other"), buzzer)))(t)
		if err := l.Accounts.Erase(t.Context(), game, erasedSubjectID); err != nil {
			t.Fatal(err)
		}
		var e erasure
		if err := l.readPool.QueryRowContext(t.Context(), `SELECT game, subject, opaque_id FROM erasures`).Scan(&e.game, &e.subject, &e.opaque); err != nil {
			t.Fatal(err)
		}
		for _, step := range []func(tx *transaction) error{
			func(*transaction) error { return nil },
			func(tx *transaction) error {
				_, err := tx.ExecContext(t.Context(), renameEntries, e.game, e.subject, e.opaque, erasePageSize)
				return err
			},
			func(tx *transaction) error { _, err := l.Erasures.renamePage(t.Context(), tx, e); return err },
		} {
			if err := l.inTx(t.Context(), step); err != nil {
				t.Fatal(err)
			}
			for _, player := range []string{erasedSubjectID, e.opaque, ""} {
				if err := l.taking(t, "m1", player); !errors.Is(err, ErrErasing) {
					t.Errorf("of %q: %v", player, err)
				}
			}
		}
		if done := disqualify(t, l, "m2", "other"); done.EntryCount != 1 {
			t.Errorf("of another player: %+v", done)
		}
		eraseAll(t, l)
		done := disqualify(t, l, "m1", "")
		rows := must(l.Leaderboards.ReadRows(t.Context(), game, done.FirstPos-2, 10))(t)
		if done.EntryCount != 2 || rows[0].Kind != leaderboard.MoveRow || rows[1].Holder != e.opaque || rows[2].Holder != "other" {
			t.Errorf("done %+v, rows %+v", done, rows)
		}
		checkSums(t, l)
	})
}

// A match that counts must have entries. If it has none, Disqualify returns an error.
func TestDisqualifyFailsIfACountingMatchHasNoEntries(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openLedger(t, db)
		must(l.Results.Commit(t.Context(), results(duel("m1", 1, "p1", "p2"))))(t)
		must(l.exec(t.Context(), `DELETE FROM entries WHERE match_id = 'm1'`))(t)
		for _, player := range []string{"p1", ""} {
			if err := l.taking(t, "m1", player); err == nil {
				t.Errorf("of %q: no error", player)
			}
		}
	})
}
