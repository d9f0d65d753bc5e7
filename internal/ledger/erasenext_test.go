package ledger

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"laststand/internal/match"
	"laststand/internal/testenv"
)

// An erasure whose step fails, because the record of a match is missing, does not stop
// later ones. It is logged and tried again, also if the clock was far ahead for a while.
func TestAFailingErasureDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openWithClock(t, db, time.UTC)
		var logged bytes.Buffer
		l.log = slog.New(slog.NewJSONHandler(&logged, nil))
		addPlayer(t, l.Ledger, erasedSubjectID)
		addPlayer(t, l.Ledger, "second")
		buzzer := duel("b", 1, erasedSubjectID, "other")
		buzzer.Mode, buzzer.Firsts = match.Buzzer, []match.First{{Player: erasedSubjectID}}
		must(l.Results.Commit(t.Context(), results(buzzer, duel("m", 2, "second", "other"))))(t)
		for i, id := range []string{erasedSubjectID, "second"} {
			l.setClock(t, 1000*int64(i+1))
			if err := l.Accounts.Erase(t.Context(), game, id); err != nil {
				t.Fatal(err)
			}
		}
		must(l.exec(t.Context(), `UPDATE matches SET id = 'gone' WHERE id = 'b'`))(t)
		if moved := eraseAll(t, l.Ledger); moved != 1 {
			t.Errorf("%d erasures ended, want that of the second player", moved)
		}
		for _, want := range []string{"erasure step failed", `"game":"` + game, `"retry_in":`, "match b"} {
			if got := logged.String(); strings.Count(got, want) != 1 || strings.Contains(got, erasedSubjectID) {
				t.Errorf("logged %s, want one %s", got, want)
			}
		}
		l.setClock(t, 2000+eraseRetryDelay.Milliseconds())
		if moved := eraseAll(t, l.Ledger); moved != 0 || strings.Count(logged.String(), "erasure step failed") != 2 {
			t.Errorf("the second try: %d erasures ended, logged %s", moved, logged.String())
		}
		l.setClock(t, 500*dayMS)
		eraseAll(t, l.Ledger)
		l.setClock(t, 3000)
		must(l.exec(t.Context(), `UPDATE matches SET id = 'b' WHERE id = 'gone'`))(t)
		if moved := eraseAll(t, l.Ledger); moved != 1 {
			t.Errorf("%d erasures ended after the record was restored", moved)
		}
		checkSums(t, l.Ledger)
	})
}

// A step of an erasure rewrites a limited number of bytes of records, but at least one
// record.
func TestAnErasureStepRewritesLimitedBytes(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openLedger(t, db)
		addPlayer(t, l, erasedSubjectID)
		for i, bytes := range []int{maxEraseBytes / 2, maxEraseBytes / 3, maxEraseBytes / 3, maxEraseBytes + 1} {
			r := duel(names("m", 4)[i], int64(i), erasedSubjectID, "other")
			r.Mode, r.ArenaID = match.Buzzer, strings.Repeat("x", bytes)
			must(l.Results.Commit(t.Context(), results(r)))(t)
		}
		if err := l.Accounts.Erase(t.Context(), game, erasedSubjectID); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{2, 1, 0} {
			_, moved, err := l.Erasures.EraseNext(t.Context())
			left := 0
			for _, r := range rowsWith(t, l, erasedSubjectID) {
				if strings.HasPrefix(r, "seats: ") {
					left++
				}
			}
			if left != want || moved != (want == 0) || err != nil {
				t.Errorf("%d seats are left, moved %v, %v, want %d", left, moved, err, want)
			}
		}
	})
}
