package ledger

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

const erasedSubjectID = "jane.doe.1984"

// rowsWith returns the rows of all tables that contain a text.
func rowsWith(t *testing.T, l *Ledger, text string) (found []string) {
	t.Helper()
	tables := `SELECT name FROM sqlite_master WHERE type = 'table'`
	if l.name == goose.DialectPostgres {
		tables = `SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = current_schema()`
	}
	var names []string
	err := scanAll(func(rows *sql.Rows) error {
		names = append(names, "")
		return rows.Scan(&names[len(names)-1])
	})(l.readPool.QueryContext(t.Context(), tables))
	if err != nil || len(names) < 20 {
		t.Fatalf("tables %v: %v", names, err)
	}
	for _, name := range names {
		rows, err := l.readPool.QueryContext(t.Context(), "SELECT * FROM "+name)
		err = scanAll(func(rows *sql.Rows) error {
			columns, _ := rows.Columns()
			values, places := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				places[i] = &values[i]
			}
			err := rows.Scan(places...)
			for i, v := range values {
				if raw, ok := v.([]byte); ok {
					values[i] = string(raw)
				}
			}
			if row := fmt.Sprint(values...); strings.Contains(strings.ToLower(row), strings.ToLower(text)) {
				found = append(found, name+": "+row)
			}
			return err
		})(rows, err)
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// filesWith returns the files of the embedded database that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	paths := testenv.Need(filepath.Glob(filepath.Join(dir, "*")))(t)
	for _, path := range paths {
		if raw := testenv.Need(os.ReadFile(path))(t); strings.Contains(string(raw), text) {
			found = append(found, path)
		}
	}
	return found
}

// A player of an operator's login service with results on many days is erased. Then no
// table and no file of SQLite contains the id. All sums stay, under one opaque id.
func TestAnErasedSubjectIsInNoTableAndNoFile(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		l.Results.pairDuelLimits = map[string]int64{game: 1000}
		addPlayer(t, l.Ledger, erasedSubjectID)
		addPlayer(t, l.Ledger, "other")
		addArena(t, l.Ledger, "m_first", erasedSubjectID)
		for day := range int64(25) {
			l.setClock(t, day*2*dayMS)
			all := results(duel(fmt.Sprint("d", day), day, erasedSubjectID, "other"))
			buzzer := duel(fmt.Sprint("b", day), day, "other", erasedSubjectID)
			buzzer.Mode, buzzer.Firsts = match.Buzzer, []match.First{{Player: erasedSubjectID, Nickname: "Nick " + erasedSubjectID}, {Question: 1, Player: "other"}}
			testenv.Need(l.Results.Commit(t.Context(), append(all, buzzer)))(t)
		}
		many := names("many", 500)
		for some := range slices.Chunk(many, 100) {
			var batch []match.Result
			for _, id := range some {
				batch = append(batch, duel(id, 99, erasedSubjectID, "third"))
			}
			testenv.Need(l.Results.Commit(t.Context(), batch))(t)
		}
		disqualify(t, l.Ledger, "d3", erasedSubjectID)
		testenv.Need(l.Days.SumDays(t.Context(), game))(t)
		total := testenv.Need(l.Players.Player(t.Context(), game, erasedSubjectID))(t).Totals
		version := testenv.Need(l.Leaderboards.DayVersion(t.Context(), game, "1970-01-01"))(t)
		testenv.NoError(t, l.Accounts.Erase(t.Context(), game, erasedSubjectID))
		if testenv.Need(l.Leaderboards.DayVersion(t.Context(), game, "1970-01-01"))(t) == version {
			t.Error("the erasure did not change the version of a day")
		}
		if r := testenv.Need(l.Arenas.Arena(t.Context(), game, "m_first"))(t); r.Host != "" || r.Name != "" {
			t.Errorf("the erasure left %+v", r)
		}
		addArena(t, l.Ledger, "m_late", erasedSubjectID)
		testenv.Need(l.Results.Commit(t.Context(), results(duel("late", 100, erasedSubjectID, "other"), duel("later", 101, "other", erasedSubjectID))))(t)
		opaque := standingsOf(t, l.Ledger, "late")[0].Player
		checkMoving := func(upTo int64, want ...string) {
			t.Helper()
			if moving := testenv.Need(l.Leaderboards.ReadMovingPlayers(t.Context(), game, upTo))(t); !slices.Equal(moving, want) {
				t.Errorf("up to %d the moving players are %q, want %q", upTo, moving, want)
			}
		}
		checkSums(t, l.Ledger)
		var moves []leaderboard.Row
		for _, r := range testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, 0, 10_000))(t) {
			if r.Kind == leaderboard.MoveRow {
				moves = append(moves, r)
			}
		}
		if len(moves) != 6 || moves[0].FormerHolder != erasedSubjectID || moves[5].Holder != opaque || moves[0].TargetDay != "" || moves[1].TargetDay != "1970-01-01" || moves[2].TargetDay != "1970-01-11" {
			t.Errorf("moves %+v", moves)
		}
		checkMoving(moves[5].Pos-1, erasedSubjectID, opaque)
		checkMoving(moves[5].Pos)
		disqualify(t, l.Ledger, "later", "")
		sum := total.Add(resultParts(t, "late", erasedSubjectID))
		if got := totalOf(t, l.Ledger, opaque); got != sum {
			t.Errorf("sums %+v, want %+v", got, sum)
		}
		if testenv.Need(l.Accounts.ForgetErased(t.Context(), ErasureRetention))(t) {
			t.Error("ForgetErased deleted a new erasure")
		}
		if !testenv.Need(l.Accounts.ForgetErased(t.Context(), 0))(t) || testenv.Need(l.Accounts.ForgetErased(t.Context(), 0))(t) {
			t.Error("ForgetErased did not delete the erasure exactly once")
		}
		if revocations := testenv.Need(l.Revocations.RevocationsSince(t.Context(), 0, 10))(t); len(revocations) != 1 || revocations[0].Kind != identity.KindErased || revocations[0].ID != l.Revocations.ErasedID(game, erasedSubjectID) {
			t.Errorf("revocations %+v", revocations)
		}
		testenv.Need(l.Results.Commit(t.Context(), results(duel("latest", 102, erasedSubjectID, "other"))))(t)
		if all := standingsOf(t, l.Ledger, "latest"); all[0].Player != opaque || all[0].Nickname != "" {
			t.Errorf("standings %+v", all)
		}
		checkSums(t, l.Ledger)
		if found := rowsWith(t, l.Ledger, erasedSubjectID); len(found) > 0 {
			t.Errorf("%d rows, the first %s", len(found), found[0])
		}
		if db.URL == "" {
			_, err := l.writePool.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
			if found := filesWith(t, db.Dir, erasedSubjectID); err != nil || len(found) > 0 {
				t.Errorf("files %q, %v", found, err)
			}
		}
		m := testenv.Need(l.History.Match(t.Context(), game, "b7"))(t)
		if m.Firsts[0].Player != opaque || m.Firsts[1].Player != "other" || m.Firsts[1].Nickname != "Nick other" {
			t.Errorf("firsts %+v", m.Firsts)
		}
		page, _, err := l.History.Matches(t.Context(), game, opaque, "", 1000)
		if err != nil || len(page) != 50+500+3 {
			t.Errorf("%d matches of the opaque id, %v", len(page), err)
		}
		if _, _, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: erasedSubjectID, Nickname: "J", Skeleton: "j", JoinedAt: 1}); !errors.Is(err, identity.ErrErased) {
			t.Errorf("the subject was created again: %v", err)
		}
	})
}

func resultParts(t *testing.T, id, player string) leaderboard.Aggregates {
	t.Helper()
	r := duel(id, 1, player, "other")
	return aggregatesOf(&r.Standings[0])
}

func totalOf(t *testing.T, l *Ledger, player string) (total leaderboard.Aggregates) {
	t.Helper()
	for _, s := range readSnapshot(t, l) {
		if s.Holder == player {
			total = total.Add(s.Aggregates)
		}
	}
	return total
}

// Several nodes erase players and commit results at the same time. No
// result is lost, and no row has the former id.
func TestErasureDuringCommitsLosesNothing(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		subjects := names("op.", 4)
		for _, id := range subjects {
			addPlayer(t, l, id)
		}
		runConcurrently(8, func(i int) {
			sub, other := subjects[i%4], subjects[(i+1)%4]
			for n := range 10 {
				r := duel(fmt.Sprint("m", i, "-", n), int64(n), sub, other)
				r.Mode, r.Firsts = match.Buzzer, []match.First{{Player: sub}, {Player: other}}
				if _, err := l.Results.Commit(t.Context(), results(r)); err != nil {
					t.Error(err)
				}
				if n == 3 && i < 3 {
					if err := l.Accounts.Erase(t.Context(), game, sub); err != nil {
						t.Error(err)
					}
				}
			}
		})
		for testenv.Need(l.Accounts.ForgetErased(t.Context(), 0))(t) {
		}
		checkSums(t, l)
		if got := totalMatches(t, l); got != 160 {
			t.Errorf("%d results, want 160", got)
		}
		for _, id := range subjects[:3] {
			if found := rowsWith(t, l, id); len(found) > 0 {
				t.Errorf("%d rows with %s, the first %s", len(found), id, found[0])
			}
		}
		if len(testenv.Need(l.Leaderboards.ReadHolders(t.Context(), game, leaderboard.Players, "", 10))(t)) != 4 {
			t.Error("an erased player has several ids")
		}
	})
}

func totalMatches(t *testing.T, l *Ledger) (n int64) {
	t.Helper()
	for _, s := range readSnapshot(t, l) {
		n += s.Aggregates.Matches
	}
	return n
}
