package ledger

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/rating"
	"laststand/internal/testenv"
)

// commitLikeOlderProgram commits a result and stores it as an older program does. The record is
// the whole result, and the seats lack values of the standings.
func commitLikeOlderProgram(t *testing.T, l *Ledger, all ...match.Result) {
	t.Helper()
	must(l.Commit(t.Context(), all))(t)
	for _, r := range all {
		text := string(must(json.Marshal(r))(t))
		must(l.exec(t.Context(), `UPDATE matches SET result = $3 WHERE game = $1 AND id = $2`, r.Game, r.Match, text))(t)
		must(l.exec(t.Context(), `
UPDATE seats SET seq = 0, team = '', answered = 0, asked = 0, time_ms = 0, rating = 0, rating_delta = 0 WHERE game = $1 AND match_id = $2`, r.Game, r.Match))(t)
	}
}

// eraseLikeOlderProgram erases a subject as an older program does: its account stays in plain
// text.
func eraseLikeOlderProgram(t *testing.T, l *Ledger, subject string) {
	t.Helper()
	must(l.exec(t.Context(), `INSERT INTO accounts (game, sub, player, at) VALUES ($1, $2, '', 1)`, game, subject))(t)
}

// An older program has filled a ledger, and an older node has added a match after the
// migration. These matches are read, corrected and erased like new ones. The migration
// does not change rows.
func TestALedgerOfVersion23IsReadCorrectedAndErased(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		first := openLedger(t, db)
		addPlayer(t, first, "p1")
		arena := duel("arena", 1, "p1", "robot", erasedSubjectID)
		arena.Mode, arena.Firsts = match.Buzzer, []match.First{{Player: erasedSubjectID, Nickname: "Nick " + erasedSubjectID}, {Question: 1, Player: "p1", Nickname: "Nick of then"}}
		arena.Standings[1].Bot, arena.Standings[1].Nickname = true, "Robot"
		arena.Teams = []match.TeamResult{{Rank: 1, ID: "red"}, {Rank: 2, ID: "blue"}}
		arena.Standings[0].Team, arena.Standings[2].Team = "red", "blue"
		rated := duel("rated", 2, erasedSubjectID, "p1")
		rated.Winner = erasedSubjectID
		rated.Standings[0].Rating = &match.RatingChange{Before: rating.Rating{R: 1500}, After: rating.Rating{R: 1533}}
		rated.Standings[1].Rating = &match.RatingChange{Before: rating.Rating{R: 1500}, After: rating.Rating{R: 1467}}
		commitLikeOlderProgram(t, first, arena, rated)
		must(must(first.migrationProvider(first.log))(t).DownTo(t.Context(), 23))(t)
		eraseLikeOlderProgram(t, first, erasedSubjectID)

		l := openLedger(t, db)
		late := duel("late", 3, "p1", erasedSubjectID)
		commitLikeOlderProgram(t, l, late)
		for _, r := range results(arena, rated, late) {
			if got := standingsOf(t, l, r.Match); !reflect.DeepEqual(got, wantStandings(r, "p1")) {
				t.Errorf("%s: %+v, want %+v", r.Match, got, wantStandings(r, "p1"))
			}
		}
		m := must(l.Match(t.Context(), game, "arena"))(t)
		if page := must(l.Standings(t.Context(), m, 1, 2))(t); len(page) != 1 || page[0].Nickname != "Robot" || m.Firsts[0].Nickname+m.Firsts[1].Nickname != "Nick p1" {
			t.Errorf("the second page %+v, firsts %+v", page, m.Firsts)
		}
		if done := disqualify(t, l, "arena", ""); done.EntryCount != 4 {
			t.Errorf("%d entries of the arena were corrected, want those of two players and two teams", done.EntryCount)
		}
		again := must(l.Commit(t.Context(), results(rated)))(t)
		if s := again[0].Standings; s[0].Rating.After.R != 1533 {
			t.Errorf("the second outcome is %+v", s)
		}

		l.checkErasesPlain(t)
		if done := disqualify(t, l, "late", ""); done.EntryCount != 2 {
			t.Errorf("%d entries of the late match were corrected", done.EntryCount)
		}
		checkSums(t, l)
		opaque := standingsOf(t, l, "late")[1].Player
		for id, i := range map[string]int{"arena": 2, "rated": 0} {
			want := wantStandings(map[string]match.Result{"arena": arena, "rated": rated}[id], "p1")
			want[i].Player = opaque
			if got := standingsOf(t, l, id); !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", id, got, want)
			}
		}
	})
}

// checkErasesPlain erases the subject that an older program stored in plain text. It
// checks that the subject cannot register again.
func (l *Ledger) checkErasesPlain(t *testing.T) {
	t.Helper()
	if !must(l.HasErasures(t.Context()))(t) {
		t.Error("nothing is to be erased")
	}
	if moved := eraseAll(t, l); moved != 1 {
		t.Errorf("moved %d", moved)
	}
	for must(l.ForgetErased(t.Context(), 0))(t) {
	}
	if found := rowsWith(t, l, erasedSubjectID); len(found) > 0 || must(l.HasErasures(t.Context()))(t) {
		t.Errorf("rows %q", found)
	}
	if got := playerOrError(t, l, erasedSubjectID); got != identity.ErrErased.Error() {
		t.Errorf("the subject is linked to %s", got)
	}
}

// Subjects that look like guests' ids are erased too, also if several nodes do it at the
// same time.
func TestSubjectsErasedByAnOlderNodeAreErasedAgain(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		const likeGuest = "p_01kagx7m1c9v5w2e8r4t6y0z3b"
		l := openLedger(t, db)
		must(l.Commit(t.Context(), results(duel("m1", 1, erasedSubjectID, likeGuest))))(t)
		subjects := append(names("quiet.", 5), erasedSubjectID, likeGuest)
		for _, id := range subjects {
			eraseLikeOlderProgram(t, l, id)
		}
		runConcurrently(4, func(int) {
			for range len(subjects) {
				if _, _, err := l.EraseNext(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
		eraseAll(t, l)
		for must(l.ForgetErased(t.Context(), 0))(t) {
		}
		for _, id := range subjects {
			if found := rowsWith(t, l, id); len(found) > 0 {
				t.Errorf("rows %q", found)
			}
		}
		if all := must(l.ReadHolders(t.Context(), game, "player", "", 10))(t); len(all) != 2 {
			t.Errorf("holders %q", all)
		}
		checkSums(t, l)
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
			r.Standings[1].Nickname = strings.Repeat("x", bytes)
			commitLikeOlderProgram(t, l, r)
		}
		if err := l.Erase(t.Context(), game, erasedSubjectID); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{2, 1, 0} {
			_, moved, err := l.EraseNext(t.Context())
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
