package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

const version1Rows = `
INSERT INTO heads (game, pos, day, first_day) VALUES ('com.example.quiz', 5, '1970-01-02', '1970-01-01');
INSERT INTO entries (game, pos, id, kind, day, at, match_id, player, score, time_ms, limit_ms, matches, asked, answered, correct) VALUES
    ('com.example.quiz', 1, 'r1', 'day.turn', '1970-01-01', 1, '', '', 0, 0, 0, 0, 0, 0, 0),
    ('com.example.quiz', 2, 'r2', 'result', '1970-01-01', 1, 'm1', 'p1', 7, 1, 2, 1, 3, 2, 1),
    ('com.example.quiz', 3, 'r3', 'result', '1970-01-01', 1, 'm1', 'p2', 5, 1, 2, 1, 3, 2, 1),
    ('com.example.quiz', 4, 'r4', 'day.turn', '1970-01-02', 2, '', '', 0, 0, 0, 0, 0, 0, 0),
    ('com.example.quiz', 5, 'r5', 'result', '1970-01-02', 2, 'm2', 'p1', 9, 1, 2, 1, 3, 2, 1)`

// A ledger of the first version is migrated with all its rows and days. It can be
// migrated back for a program of that version.
func TestALedgerOfVersion1IsMigrated(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openWithClock(t, db, time.UTC)
		provider := must(l.migrationProvider(slog.New(slog.DiscardHandler)))(t)
		must(provider.DownTo(t.Context(), 1))(t)
		for statement := range strings.SplitSeq(version1Rows, ";") {
			must(l.exec(t.Context(), statement))(t)
		}
		must(provider.Up(t.Context()))(t)
		l.setClock(t, 2*dayMS)
		l.checkVersion1(t)
		team := duel("m3", 1, "p1")
		team.Teams, team.Standings[0].Team = []match.TeamResult{{Rank: 1, ID: "red"}}, "red"
		must(l.Commit(t.Context(), results(team, duel("m4", 1, "p1", "p2"))))(t)
		disqualify(t, l.Ledger, "m3", "")
		must(l.SumDays(t.Context(), game))(t)
		checkSums(t, l.Ledger)

		must(provider.DownTo(t.Context(), 1))(t)
		var left []string
		err := scanAll(func(rows *sql.Rows) error {
			var kind, player string
			var score int64
			err := rows.Scan(&kind, &player, &score)
			left = append(left, fmt.Sprint(kind, " ", player, " ", score))
			return err
		})(l.readPool.QueryContext(t.Context(), "SELECT kind, player, score FROM entries WHERE pos > 5 ORDER BY pos"))
		want := []string{"day.turn  0", "result p1 150", "day.turn  0", "result p1 300", "result p2 150", "result p1 -150", "day.turn  0"}
		if err != nil || !slices.Equal(left, want) {
			t.Errorf("entries %q, %v, want %q", left, err, want)
		}
		must(provider.Up(t.Context()))(t)
		if n := must(l.SumDays(t.Context(), game))(t); n != 2 {
			t.Errorf("%d days summed after all", n)
		}
	})
}

// Dead letters of a version before the task queue become tasks. After a migration back
// they are dead letters again.
func TestDeadLettersOfVersion4BecomeTasks(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openLedger(t, db)
		provider := must(l.migrationProvider(slog.New(slog.DiscardHandler)))(t)
		must(provider.DownTo(t.Context(), 4))(t)
		must(l.exec(t.Context(), `INSERT INTO tasks (id, game, topic, key, payload, state, tries, errors, created_at, changed_at)
VALUES ('t1', 'g', 'settle', 'm1', '{}', 'dead', 10, '[{"at":1,"error":"why"}]', 1, 2)`))(t)
		must(provider.Up(t.Context()))(t)
		task := must(l.Task(t.Context(), "t1"))(t)
		if task.State != taskqueue.StateDead || task.Key != "m1" || task.Tries != 10 || len(task.Errors) != 1 || task.ChangedAt != 2 {
			t.Errorf("the letter became %+v", task)
		}
		must(l.ChangeTask(t.Context(), "t1", (*taskqueue.Task).Requeue))(t)
		if tasks := must(l.Claim(t.Context(), taskqueue.SettleTopic, 1, lease))(t); len(tasks) != 1 || tasks[0].ID != "t1" {
			t.Errorf("claimed %+v", tasks)
		}
		must(l.ChangeTask(t.Context(), "t1", (*taskqueue.Task).Discard))(t)
		must(provider.DownTo(t.Context(), 4))(t)
		var state string
		if err := l.readPool.QueryRowContext(t.Context(), "SELECT state FROM tasks WHERE id = 't1'").Scan(&state); err != nil || state != "discarded" {
			t.Errorf("the letter is %q, %v", state, err)
		}
	})
}

func (c clockLedger) checkVersion1(t *testing.T) {
	t.Helper()
	rows := must(c.ReadRows(t.Context(), game, 0, 10))(t)
	var got []string
	for _, r := range rows {
		got = append(got, fmt.Sprintf("%s %s %s%s %d", r.ID, r.Kind, r.HolderKind, r.Holder, r.Aggregates.Score))
	}
	if want := []string{"r1 day.turn  0", "r2 result playerp1 7", "r3 result playerp2 5", "r4 day.turn  0", "r5 result playerp1 9"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	if n := must(c.SumDays(t.Context(), game))(t); n != 1 {
		t.Errorf("%d days summed", n)
	}
	if sums := readDaySums(t, c.Ledger, "1970-01-01", leaderboard.Players); len(sums) != 2 || sums[0].Aggregates.Score != 7 || sums[1].Newest != 3 {
		t.Errorf("sums %+v", sums)
	}
	checkSums(t, c.Ledger)
}

// Holders are ordered by their bytes in a database of any locale.
func TestHoldersAreOrderedByBytesInAnyLocale(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		if db.URL == "" {
			return
		}
		admin := openLedger(t, db)
		const name = "test_english"
		must(admin.exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US'"))(t)
		t.Cleanup(func() { must(admin.exec(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)"))(t) })
		u := must(url.Parse(db.URL))(t)
		u.Path = "/" + name
		l := openWithClock(t, testenv.SQL{URL: u.String()}, time.UTC)
		ids := []string{"b", "B", "a-b", "a", "A_", "a_", "aB"}
		for day := range int64(3) {
			l.setClock(t, day*dayMS)
			must(l.Commit(t.Context(), results(duel(fmt.Sprint("m", day), 1, ids...))))(t)
		}
		must(l.SumDays(t.Context(), game))(t)
		slices.Sort(ids)
		if got := must(l.ReadHolders(t.Context(), game, leaderboard.Players, "A", 100))(t); !slices.Equal(got, ids) {
			t.Errorf("holders %q, want %q", got, ids)
		}
		var got []string
		for _, s := range readSnapshot(t, l.Ledger) {
			got = append(got, s.Holder)
		}
		if got = slices.Compact(got); !slices.Equal(got, ids) {
			t.Errorf("sums of %q, want %q", got, ids)
		}
		checkSums(t, l.Ledger)
	})
}
