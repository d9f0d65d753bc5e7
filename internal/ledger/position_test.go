package ledger

import (
	"testing"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

// Each change of entries, bans and banks moves the position forwards.
func TestThePositionOfALedgerOnlyMovesForwards(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		l := openLedger(t, db)
		last := testenv.Need(l.Position(t.Context()))(t)
		for name, change := range map[string]func() error{
			"result": func() error {
				_, err := l.Results.Commit(t.Context(), results(duel("m1", 1, "ada", "bob")))
				return err
			},
			"ban": func() error {
				_, err := l.Revocations.SetRevocation(t.Context(), identity.Revocation{Game: game, Kind: identity.KindBan, ID: "ada"})
				return err
			},
			"bank": func() error { return l.Banks.SaveBank(t.Context(), "trivia", nil) },
		} {
			testenv.NoError(t, change())
			now := testenv.Need(l.Position(t.Context()))(t)
			if !now.Follows(last) || last.Follows(now) {
				t.Errorf("%s: %+v follows %+v", name, now, last)
			}
			last = now
		}
		for _, other := range []string{"UPDATE ledger_info SET epoch = 'other'", "UPDATE ledger_heads SET pos = pos - 1"} {
			testenv.Need(l.exec(t.Context(), other))(t)
			now := testenv.Need(l.Position(t.Context()))(t)
			if now.Follows(last) || !now.Follows(Position{}) || l.Epoch() != "other" {
				t.Errorf("%s: %+v follows %+v, the epoch is %s", other, now, last, l.Epoch())
			}
			last = now
		}
		if promoted := last; db.URL != "" {
			promoted.Timeline = "00000002"
			if last.Timeline != "00000001" || promoted.Follows(last) {
				t.Errorf("%+v follows %+v", promoted, last)
			}
		}
	})
}
