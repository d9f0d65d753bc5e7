package ledger

import (
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/testenv"
)

// An operator's service may mint a subject in the form of a guest's id. Its results
// before and after its erasure get the same id.
func TestAnErasedSubjectThatLooksLikeAGuestGetsOneOpaqueID(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		subject := newOpaqueID()
		addPlayer(t, l, subject)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 1, subject, "other"))))(t)
		testenv.NoError(t, l.Accounts.Erase(t.Context(), game, subject))
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m2", 2, subject, "other"))))(t)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m3", 3, subject, "other"))))(t)
		for testenv.Need(l.Accounts.ForgetErased(t.Context(), 0))(t) {
		}
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m4", 4, subject, "other"))))(t)
		if all := testenv.Need(l.Leaderboards.ReadHolders(t.Context(), game, leaderboard.Players, "", 10))(t); len(all) != 2 {
			t.Errorf("holders %q", all)
		}
		if found := rowsWith(t, l, subject); len(found) > 0 {
			t.Errorf("rows %q", found)
		}
		checkSums(t, l)
	})
}
