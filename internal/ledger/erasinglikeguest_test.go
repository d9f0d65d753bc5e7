package ledger

import (
	"context"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/trial"
)

// A subject in the form of a guest's id, which an operator's service minted, is not
// split in two: what it settles before, during and after its erasure has one id.
func TestErasedSubjectLikeAGuest(t *testing.T) {
	t.Parallel()
	trial.EachSQL(t, func(t *testing.T, db trial.SQL) {
		t.Parallel()
		l := openOn(t, db)
		subject := newOpaqueID()
		addPlayer(t, l, subject)
		must(l.Commit(t.Context(), results(duel("m1", 1, subject, "other"))))(t)
		if err := l.Erase(t.Context(), game, subject); err != nil {
			t.Fatal(err)
		}
		must(l.Commit(t.Context(), results(duel("m2", 2, subject, "other"))))(t)
		eraseAll(t, l)
		must(l.Commit(t.Context(), results(duel("m3", 3, subject, "other"))))(t)
		for must(l.ForgetErased(t.Context(), 0))(t) {
		}
		must(l.Commit(t.Context(), results(duel("m4", 4, subject, "other"))))(t)
		if all := must(l.Holders(t.Context(), game, leaderboard.Players, "", 10))(t); len(all) != 2 {
			t.Errorf("holders %q", all)
		}
		if found := rowsWith(t, l, subject); len(found) > 0 {
			t.Errorf("rows %q", found)
		}
		checkSums(t, l)
	})
}

// Whom an older program has erased, and kept as they were, is wiped too.
func TestErasedByVersion24(t *testing.T) {
	t.Parallel()
	trial.EachSQL(t, func(t *testing.T, db trial.SQL) {
		t.Parallel()
		const likeGuest = "p_01kagx7m1c9v5w2e8r4t6y0z3b"
		first := openOn(t, db)
		must(first.Commit(t.Context(), results(duel("m1", 1, jane, likeGuest))))(t)
		provider := must(first.provider(first.log))(t)
		must(provider.DownTo(t.Context(), 24))(t)
		must(first.exec(context.Background(), `INSERT INTO accounts (game, sub, player, at) VALUES ($1, $2, '', 1), ($1, $3, '', 1)`, game, jane, likeGuest))(t)
		l := openOn(t, db)
		if moved := eraseAll(t, l); moved != 2 {
			t.Errorf("moved %d", moved)
		}
		for must(l.ForgetErased(t.Context(), 0))(t) {
		}
		if found := append(rowsWith(t, l, jane), rowsWith(t, l, likeGuest)...); len(found) > 0 {
			t.Errorf("rows %q", found)
		}
		if got := subject(t, l, jane); got != identity.ErrErased.Error() {
			t.Errorf("the subject speaks for %s", got)
		}
		checkSums(t, l)
	})
}
