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

// commitAsOlder commits a result and stores it as an older program does. The record is
// the whole result, and the seats lack values of the standings.
func commitAsOlder(t *testing.T, l *Ledger, all ...match.Result) {
	t.Helper()
	must(l.Commit(t.Context(), all))(t)
	for _, r := range all {
		text := string(must(json.Marshal(r))(t))
		must(l.exec(t.Context(), `UPDATE matches SET result = $3 WHERE game = $1 AND id = $2`, r.Game, r.Match, text))(t)
		must(l.exec(t.Context(), `
UPDATE seats SET seq = 0, team = '', answered = 0, asked = 0, time_ms = 0, rating = 0, rating_delta = 0 WHERE game = $1 AND match_id = $2`, r.Game, r.Match))(t)
	}
}

// eraseAsOlder erases a subject as an older program does: its account stays in plain
// text.
func eraseAsOlder(t *testing.T, l *Ledger, subject string) {
	t.Helper()
	must(l.exec(t.Context(), `INSERT INTO accounts (game, sub, player, at) VALUES ($1, $2, '', 1)`, game, subject))(t)
}

// An older program has filled a ledger, and an older node has added a match after the
// migration. These matches are read, corrected and erased like new ones. The migration
// does not change rows.
func TestLedgerOfVersion23(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		first := openOn(t, db)
		addPlayer(t, first, "p1")
		arena := duel("arena", 1, "p1", "robot", jane)
		arena.Mode, arena.Firsts = match.Buzzer, []match.First{{Player: jane, Nickname: "Nick " + jane}, {Question: 1, Player: "p1", Nickname: "Nick of then"}}
		arena.Standings[1].Bot, arena.Standings[1].Nickname = true, "Robot"
		arena.Teams = []match.TeamResult{{Rank: 1, ID: "red"}, {Rank: 2, ID: "blue"}}
		arena.Standings[0].Team, arena.Standings[2].Team = "red", "blue"
		rated := duel("rated", 2, jane, "p1")
		rated.Winner = jane
		rated.Standings[0].Rating = &match.RatingChange{Before: rating.Rating{R: 1500}, After: rating.Rating{R: 1533}}
		rated.Standings[1].Rating = &match.RatingChange{Before: rating.Rating{R: 1500}, After: rating.Rating{R: 1467}}
		commitAsOlder(t, first, arena, rated)
		must(must(first.provider(first.log))(t).DownTo(t.Context(), 23))(t)
		eraseAsOlder(t, first, jane)

		l := openOn(t, db)
		late := duel("late", 3, "p1", jane)
		commitAsOlder(t, l, late)
		for _, r := range results(arena, rated, late) {
			if got := standingsOf(t, l, r.Match); !reflect.DeepEqual(got, shownAs(r, "p1")) {
				t.Errorf("%s: %+v, want %+v", r.Match, got, shownAs(r, "p1"))
			}
		}
		m := must(l.Match(t.Context(), game, "arena"))(t)
		if page := must(l.Standings(t.Context(), m, 1, 2))(t); len(page) != 1 || page[0].Nickname != "Robot" || m.Firsts[0].Nickname+m.Firsts[1].Nickname != "Nick p1" {
			t.Errorf("the second page %+v, firsts %+v", page, m.Firsts)
		}
		if done := disqualify(t, l, "arena", ""); done.Rows != 4 {
			t.Errorf("%d entries of the arena were corrected, want those of two players and two teams", done.Rows)
		}
		again := must(l.Commit(t.Context(), results(rated)))(t)
		if s := again[0].Standings; s[0].Rating.After.R != 1533 {
			t.Errorf("the second outcome is %+v", s)
		}

		l.checkErasesPlain(t)
		if done := disqualify(t, l, "late", ""); done.Rows != 2 {
			t.Errorf("%d entries of the late match were corrected", done.Rows)
		}
		checkSums(t, l)
		opaque := standingsOf(t, l, "late")[1].Player
		for id, i := range map[string]int{"arena": 2, "rated": 0} {
			want := shownAs(map[string]match.Result{"arena": arena, "rated": rated}[id], "p1")
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
	if !must(l.Erasing(t.Context()))(t) {
		t.Error("nothing is to be erased")
	}
	if moved := eraseAll(t, l); moved != 1 {
		t.Errorf("moved %d", moved)
	}
	for must(l.ForgetErased(t.Context(), 0))(t) {
	}
	if found := rowsWith(t, l, jane); len(found) > 0 || must(l.Erasing(t.Context()))(t) {
		t.Errorf("rows %q", found)
	}
	if got := subject(t, l, jane); got != identity.ErrErased.Error() {
		t.Errorf("the subject is linked to %s", got)
	}
}

// Subjects that look like guests' ids are erased too, also if several nodes do it at the
// same time.
func TestErasedByAnOlderNode(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		const likeGuest = "p_01kagx7m1c9v5w2e8r4t6y0z3b"
		l := openOn(t, db)
		must(l.Commit(t.Context(), results(duel("m1", 1, jane, likeGuest))))(t)
		subjects := append(names("quiet.", 5), jane, likeGuest)
		for _, id := range subjects {
			eraseAsOlder(t, l, id)
		}
		atOnceN(4, func(int) {
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
func TestErasureIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openOn(t, db)
		addPlayer(t, l, jane)
		for i, bytes := range []int{eraseBytes / 2, eraseBytes / 3, eraseBytes / 3, eraseBytes + 1} {
			r := duel(names("m", 4)[i], int64(i), jane, "other")
			r.Standings[1].Nickname = strings.Repeat("x", bytes)
			commitAsOlder(t, l, r)
		}
		if err := l.Erase(t.Context(), game, jane); err != nil {
			t.Fatal(err)
		}
		for _, want := range []int{2, 1, 0} {
			_, moved, err := l.EraseNext(t.Context())
			left := 0
			for _, r := range rowsWith(t, l, jane) {
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
