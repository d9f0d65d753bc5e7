package ledger

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// openWithRetention opens a ledger with a test clock, which keeps answers for 10 days and
// matches for 20.
func openWithRetention(t *testing.T, db testenv.SQL) clockLedger {
	t.Helper()
	l := openWithClock(t, db, time.UTC)
	rules := map[string]Retention{game: {Answers: 240 * time.Hour, Matches: 480 * time.Hour}}
	l.OldMatches.retention, l.Results.retention = rules, rules
	return l
}

// matchesLeft returns the ids of the matches that have rows in a table.
func matchesLeft(t *testing.T, l *Ledger, table, column string) []string {
	t.Helper()
	return testenv.Need(list(t.Context(), l.database, itself[string], fmt.Sprintf("SELECT DISTINCT %s FROM %s ORDER BY 1", column, table)))(t)
}

func countRows(t *testing.T, l *Ledger, table string) int64 {
	t.Helper()
	return testenv.Need(getValue[int64](t.Context(), l.database, "SELECT COUNT(*) FROM "+table))(t)
}

// Answers and then matches are deleted when they are old enough, in several steps.
// Everything that leaderboards, totals and ratings need stays, and so do other games.
func TestOldAnswersAndMatchesAreDeleted(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithRetention(t, db)
		addPlayer(t, l.Ledger, "p000")
		players := map[string]int{"m_large": 2*deletedSeats + 7, "m_mid": 3, "m_new": 2}
		for i := range 2 * deletedMatches {
			players[fmt.Sprintf("m_old%03d", i)] = 2
		}
		for id, n := range players {
			day := map[string]int64{"m_mid": 5, "m_new": 15}[id]
			l.setClock(t, day*dayMS)
			p := newPlayedMatch(id, day*dayMS, names("p", n), 1+int(day))
			p.commit(t, l.Ledger)
		}
		other := duel("m_other", 1, "p1", "p2")
		other.Game = "another.game"
		testenv.Need(l.Results.Commit(t.Context(), results(other)))(t)
		testenv.Need(l.exec(t.Context(), "UPDATE matches SET over_at = 0 WHERE id IN ('m_new', 'm_old000')"))(t) // rows of a former program
		sums, profile := readSnapshot(t, l.Ledger), testenv.Need(l.Players.Player(t.Context(), game, "p000"))(t)
		check := func(day int64, wantAnswers, wantMatches, wantAsked int) {
			t.Helper()
			l.setClock(t, day*dayMS)
			before := countRows(t, l.Ledger, "matches") + countRows(t, l.Ledger, "answers")
			deleted := testenv.Need(l.OldMatches.DeleteOld(t.Context(), game))(t)
			if after := countRows(t, l.Ledger, "matches") + countRows(t, l.Ledger, "answers"); deleted != before-after {
				t.Errorf("day %d: %d deleted, from %d rows to %d", day, deleted, before, after)
			}
			if n := testenv.Need(l.OldMatches.DeleteOld(t.Context(), game))(t); n != 0 {
				t.Errorf("day %d: %d were left", day, n)
			}
			stored, matches, seats := matchesLeft(t, l.Ledger, "answers", "match_id"), matchesLeft(t, l.Ledger, "matches", "id"), matchesLeft(t, l.Ledger, "seats", "match_id")
			asked := matchesLeft(t, l.Ledger, "asked_questions", "hash")
			if len(stored) != wantAnswers || len(matches) != wantMatches+1 || !slices.Equal(matches, seats) || len(asked) != wantAsked || !slices.Contains(matches, "m_other") {
				t.Errorf("day %d: answers of %d matches, %d matches, %d with seats, %d questions", day, len(stored), len(matches), len(seats), len(asked))
			}
			if got := readSnapshot(t, l.Ledger); !reflect.DeepEqual(got, sums) || testenv.Need(l.Players.Player(t.Context(), game, "p000"))(t) != profile {
				t.Errorf("day %d: the sums or the profile changed", day)
			}
			checkSums(t, l.Ledger)
		}
		all := len(players)
		check(10, all, all, 3)
		check(11, 2, all, 3)
		check(13, 2, all, 2)
		check(20, 1, all, 1)
		check(21, 1, 2, 1)
		check(26, 0, 1, 1)
		check(40, 0, 0, 0)
		if _, err := l.Answers.Match(t.Context(), game, "m_new"); !errors.Is(err, match.ErrNotFound) {
			t.Errorf("a deleted match: %v", err)
		}
	})
}

// A match whose end cannot be read counts as new, and so is kept.
func TestAMatchWithAnUnreadableEndIsNew(t *testing.T) {
	t.Parallel()
	for want, m := range map[int64]oldMatch{7: {overAt: 7, summary: "{"}, 8: {summary: `{"over_at":8}`}, 9: {summary: "{"}} {
		if got := m.end(9); got != want {
			t.Errorf("%+v ends at %d, want %d", m, got, want)
		}
	}
}

func TestWithoutRetentionNothingIsDeleted(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	newPlayedMatch("m1", 1, []string{"a", "b"}, 1).commit(t, l)
	if n := testenv.Need(l.OldMatches.DeleteOld(t.Context(), game))(t); n != 0 || len(matchesLeft(t, l, "answers", "match_id")) != 1 {
		t.Errorf("%d deleted", n)
	}
}

func TestAnswersAreNotKeptLongerThanMatches(t *testing.T) {
	t.Parallel()
	for rule, want := range map[Retention]time.Duration{{}: 0, {Answers: 5}: 5, {Matches: 7}: 7, {Answers: 5, Matches: 7}: 5, {Answers: 9, Matches: 7}: 7} {
		if got := rule.answersAge(); got != want {
			t.Errorf("%+v: answers are kept for %d, want %d", rule, got, want)
		}
	}
}

// A result that is older than the retention may have been counted and deleted. So the
// ledger refuses it, and counts nothing.
func TestAResultOlderThanTheRetentionIsRefused(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithRetention(t, db)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("m1", 0, "a", "b"))))(t)
		l.setClock(t, 21*dayMS)
		testenv.Need(l.OldMatches.DeleteOld(t.Context(), game))(t)
		sums := readSnapshot(t, l.Ledger)
		_, err := l.Results.Commit(t.Context(), results(duel("m1", 0, "a", "b")))
		if !errors.Is(err, ErrBadResult) || !IsResultRefused(err) || !reflect.DeepEqual(readSnapshot(t, l.Ledger), sums) {
			t.Errorf("the match was counted again: %v", err)
		}
		if done := testenv.Need(l.Results.Commit(t.Context(), results(duel("m2", dayMS, "a", "b"))))(t); !done[0].IsNew {
			t.Error("a result that is not too old was refused")
		}
	})
}

// An erasure removes what a player chose and wrote from every match, in several steps, also
// if it is interrupted or several nodes work on it. The answers of others, and points and
// times, stay. A malformed block loses all its answers and does not stop the erasure.
func TestAnErasureRemovesGivenAnswers(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		guest := newOpaqueID()
		for _, id := range []string{erasedSubjectID, guest, "other"} {
			addPlayer(t, l, id)
		}
		var matches []playedMatch
		for i := range 2*erasedPerStep + 3 {
			p := newPlayedMatch(fmt.Sprintf("m%02d", i), int64(1000*i), []string{"other", erasedSubjectID, guest}, 1, 7)
			for j, a := range p.blocks[0].Answers {
				if a.Question == 1 && a.Player > 0 {
					p.blocks[0].Answers[j].Given = &protocol.Given{Value: fmt.Appendf(nil, `"my secret %d"`, i)}
				}
			}
			p.commit(t, l)
			switch i % erasedPerStep {
			case 1:
				testenv.Need(l.exec(t.Context(), "UPDATE answers SET texts = '[\"my secret\"' WHERE match_id = $1", p.result.Match))(t)
				p.blocks[0].Answers = nil
			case 2: // the same answer twice
				testenv.Need(l.exec(t.Context(), "UPDATE answers SET answers = $2 WHERE match_id = $1", p.result.Match, make([]byte, 10)))(t)
				p.blocks[0].Answers = nil
			}
			matches = append(matches, p)
		}
		for _, id := range []string{erasedSubjectID, guest} {
			testenv.NoError(t, l.Accounts.Erase(t.Context(), game, id))
		}
		if found, erased, err := l.Accounts.forgetStep(t.Context(), 0); !found || erased == 0 || err != nil { // then the node dies
			t.Fatal(found, erased, err)
		}
		if cursors := matchesLeft(t, l, "erasures", "answers_match_id"); !slices.Equal(cursors, []string{"", matches[erasedPerStep-1].result.Match}) {
			t.Errorf("the erasures continue after the matches %q", cursors)
		}
		if l.name == goose.DialectPostgres { // SQLite has one writer at a time
			checkLockedErasures(t, l)
		}
		for len(matchesLeft(t, l, "erasures", "subject")) > 0 {
			runConcurrently(3, func(int) {
				if _, err := l.Accounts.ForgetErased(t.Context(), 0); err != nil {
					t.Error(err)
				}
			})
		}
		if n := testutil.ToFloat64(l.Accounts.emptiedBlocks); n != 6 {
			t.Errorf("%g malformed blocks were counted, want 6", n)
		}
		for _, text := range []string{"my secret", erasedSubjectID} {
			if found := rowsWith(t, l, text); len(found) > 0 {
				t.Errorf("%d rows with %q, the first %s", len(found), text, found[0])
			}
		}
		for _, p := range matches {
			want := slices.Clone(p.blocks[0].Answers)
			for i := range want {
				if want[i].Player > 0 {
					want[i].Given = nil
				}
			}
			if got := readAnswers(t, l, p.result.Match); !reflect.DeepEqual(got, want) {
				t.Errorf("match %s: %+v\nwant %+v", p.result.Match, got, want)
			}
		}
	})
}

// checkLockedErasures checks that a node leaves an erasure to the node that works on it.
func checkLockedErasures(t *testing.T, l *Ledger) {
	t.Helper()
	err := l.inTx(t.Context(), func(tx *transaction) error {
		tx.exec(t.Context(), "SELECT 1 FROM erasures FOR UPDATE")
		if found, _, err := l.Accounts.forgetStep(t.Context(), 0); found || err != nil {
			t.Errorf("a step of locked erasures: %v, %v", found, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
