package ledger

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

func TestCommitAssignsPositionsAndAddsRows(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		bot := duel("m2", 2, "p1", "robot")
		bot.CountsForLeaderboards, bot.Standings[1].Bot = false, true
		other := duel("m1", 3, "p1")
		other.Game = "another.game"
		batch := results(duel("m3", 1, "p1", "p2"), bot, other, duel("m3", 1, "p1", "p2"), duel("m0", 4, "p2", "p1"))
		done := testenv.Need(l.Results.Commit(t.Context(), batch))(t)
		type outcome struct {
			counts, isNew bool
			first, last   int64
		}
		var got []outcome
		for i, c := range done {
			e := readEntries(t, l, batch[i])
			got = append(got, outcome{c.CountsForLeaderboards, c.IsNew, e.first, e.last})
		}
		// Position 1 is the entry that starts the game's first day.
		want := []outcome{{true, true, 2, 3}, {false, true, 0, 0}, {true, true, 2, 2}, {true, false, 2, 3}, {true, true, 4, 5}}
		if !slices.Equal(got, want) {
			t.Errorf("committed %+v, want %+v", got, want)
		}
		rows := testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, 1, 100))(t)
		wantRow := leaderboard.Row{
			Pos: 2, ID: rows[0].ID, Kind: leaderboard.ResultRow, Day: rows[0].Day, CommittedAt: readEntries(t, l, batch[0]).committedAt, HolderKind: leaderboard.Players, Holder: "p1",
			Aggregates: leaderboard.Aggregates{Score: 300, TimeMS: 99_998, LimitMS: 150_000, Matches: 1, Asked: 10, Answered: 3, Correct: 2},
		}
		if len(rows) != 4 || rows[0] != wantRow {
			t.Errorf("%d rows, the first %+v, want %+v", len(rows), rows[0], wantRow)
		}
	})
}

func TestCommitWithoutResultsDoesNothing(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	if done := testenv.Need(l.Results.Commit(t.Context(), nil))(t); len(done) != 0 {
		t.Errorf("committed %v", done)
	}
	if head := readHead(t, l); head != (leaderboard.Watermark{Epoch: l.Epoch()}) {
		t.Errorf("head of an empty ledger %+v", head)
	}
}

func TestInvalidResultsAreRefused(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	for name, spoil := range map[string]func(*match.Result){
		"no match":      func(r *match.Result) { r.Match = "" },
		"no game":       func(r *match.Result) { r.Game = "" },
		"long id":       func(r *match.Result) { r.Match = fmt.Sprintf("%65d", 1) },
		"odd id":        func(r *match.Result) { r.Match = "m 1" },
		"no player":     func(r *match.Result) { r.Standings[0].Player = "" },
		"player twice":  func(r *match.Result) { r.Standings[1].Player = r.Standings[0].Player },
		"negative part": func(r *match.Result) { r.Standings[0].Score = -1 },
		"not whole":     func(r *match.Result) { r.Paged, r.Standings = true, nil },
		"half rated":    func(r *match.Result) { r.Standings[0].Rating = &match.RatingChange{} },
	} {
		bad := duel("bad", 1, "p1", "p2")
		spoil(&bad)
		_, err := l.Results.Commit(t.Context(), results(duel("good", 1, "p1"), bad))
		if !errors.Is(err, ErrBadResult) || IsUnavailable(err) || !IsResultRefused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if done := testenv.Need(l.Results.Commit(t.Context(), results(duel("good", 1, "p1"))))(t); !done[0].IsNew {
		t.Error("a refused batch left a trace")
	}
}

// PostgreSQL refuses a NUL character in a text, and SQLite accepts it. The error says that
// the result is invalid.
func TestARefusedResultIsNotReportedAsUnavailable(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		if db.URL == "" {
			return
		}
		l := openLedger(t, db)
		r := duel("m1", 1, "p1")
		r.Mode = "\x00"
		if _, err := l.Results.Commit(t.Context(), results(r)); err == nil || IsUnavailable(err) || !IsResultRefused(err) {
			t.Errorf("error %v", err)
		}
	})
}

// If tables or permissions are missing, the error does not say that a result is invalid.
func TestMissingTablesAreNotReportedAsABadResult(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for _, way := range [][2]string{{"rank", "rank_of"}, {"rank_of", "rank"}} {
			if _, err := l.exec(t.Context(), "ALTER TABLE seats RENAME COLUMN "+way[0]+" TO "+way[1]); err != nil {
				t.Fatal(err)
			}
			_, err := l.Results.Commit(t.Context(), results(duel("m1", 1, "p1", "p2")))
			if broken := way[0] == "rank"; (err != nil) != broken || IsResultRefused(err) {
				t.Errorf("column %s: error %v", way[1], err)
			}
		}
	})
}

// drawResults draws a batch from few games, players and matches. So matches are repeated, and
// players are in many of them.
func drawResults(t *rapid.T) []match.Result {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) match.Result {
		n := rapid.IntRange(0, 60).Draw(t, "match")
		r := match.Result{
			Match: fmt.Sprint("m", n), Game: fmt.Sprint("game", n%3), Mode: match.Duel,
			OverAt: int64(n), Reason: match.ReasonFinished, CountsForLeaderboards: n%5 != 0,
		}
		for p := range n%4 + 1 {
			r.Standings = append(r.Standings, match.Standing{
				Rank: p + 1, Player: fmt.Sprint("p", (n*7+p)%9), Bot: n%7 == 0 && p > 0,
				Score: int64(n * p), Asked: 10, Answered: p, Correct: p, TimeMS: int64(n), LimitMS: 15_000,
			})
		}
		return r
	}), 0, 20).Draw(t, "batch")
}

// Each match counts once, however results are divided into batches, and also if several
// connections commit at the same time.
// Positions have no gap, and entries of a match are adjacent and in order. Rows, totals
// and histories are the sums of the given matches.
func TestEachMatchCountsOnceInConcurrentCommits(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		nodes := []*Ledger{openLedger(t, db)}
		if db.URL != "" { // SQLite has one process; TestTwoProcessesUseOneSQLiteFile has two
			nodes = append(nodes, openLedger(t, db))
		}
		addNinePlayers(t, nodes[0])
		rapid.Check(t, func(rt *rapid.T) {
			deleteAllResults(t, nodes[0])
			o := newExpectedLedger(t, nodes[0])
			batches := rapid.SliceOfN(rapid.Custom(drawResults), 1, 6).Draw(rt, "batches")
			var mu sync.Mutex
			runConcurrently(len(batches), func(i int) {
				done, err := nodes[i%len(nodes)].Results.Commit(t.Context(), batches[i])
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				for j, r := range batches[i] {
					o.committed(rt, r, done[j].IsNew)
				}
			})
			o.check(rt)
		})
	})
}

// addNinePlayers adds nine players to each of the three games that drawResults uses.
func addNinePlayers(t *testing.T, l *Ledger) {
	t.Helper()
	for i := range 27 {
		id := fmt.Sprint("p", i%9)
		_, _, err := l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: fmt.Sprint("game", i/9), ID: id, Nickname: id, Skeleton: id})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// deleteAllResults deletes all results from the ledger.
func deleteAllResults(t *testing.T, l *Ledger) {
	t.Helper()
	err := l.inTx(t.Context(), func(tx *transaction) error {
		for _, text := range []string{
			"DELETE FROM entries", "DELETE FROM ledger_heads", "DELETE FROM seats", "DELETE FROM matches", "DELETE FROM corrections",
			"DELETE FROM days", "DELETE FROM day_sums", "DELETE FROM duel_pairs", "DELETE FROM teams",
			"UPDATE players SET score = 0, time_ms = 0, limit_ms = 0, matches = 0, asked = 0, answered = 0, correct = 0",
		} {
			if _, err := tx.ExecContext(t.Context(), text); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// matchEntries are the first and the last position of the results of a match, 0 for none, and
// their time.
type matchEntries struct{ first, last, committedAt int64 }

func readEntries(t *testing.T, l *Ledger, r match.Result) (e matchEntries) {
	t.Helper()
	testenv.Need(l.get(t.Context(), into(&e.first, &e.last, &e.committedAt), `
SELECT COALESCE(MIN(pos), 0), COALESCE(MAX(pos), 0), COALESCE(MAX(committed_at), 0) FROM entries
WHERE game = $1 AND match_id = $2 AND kind = 'result'`, r.Game, r.Match))(t)
	return e
}

// expectedLedger computes in memory what the ledger must contain.
type expectedLedger struct {
	t     *testing.T
	l     *Ledger
	taken map[string]match.Result
	given map[string]bool
	at    map[string]map[int64]string // game, position: the player
}

func newExpectedLedger(t *testing.T, l *Ledger) *expectedLedger {
	return &expectedLedger{t: t, l: l, taken: map[string]match.Result{}, given: map[string]bool{}, at: map[string]map[int64]string{}}
}

func (o *expectedLedger) committed(rt *rapid.T, r match.Result, isNew bool) {
	o.given[r.Match] = true
	if !isNew {
		return
	}
	if _, twice := o.taken[r.Match]; twice {
		rt.Errorf("%s was new twice", r.Match)
	}
	o.taken[r.Match] = r
	if !r.CountsForLeaderboards {
		return
	}
	if o.at[r.Game] == nil {
		o.at[r.Game] = map[int64]string{}
	}
	e := readEntries(o.t, o.l, r)
	pos := e.first
	for s := range humanStandings(&r) {
		o.at[r.Game][pos] = s.Player
		pos++
	}
	if pos != e.last+1 {
		rt.Errorf("%s has positions %d to %d", r.Match, e.first, e.last)
	}
}

func (o *expectedLedger) check(rt *rapid.T) {
	if len(o.given) != len(o.taken) {
		rt.Errorf("%d matches committed, %d accepted", len(o.given), len(o.taken))
	}
	for g := range 3 {
		o.checkGame(rt, fmt.Sprint("game", g))
	}
}

func (o *expectedLedger) checkGame(rt *rapid.T, game string) {
	want, played := o.sums(game)
	got := map[string]leaderboard.Aggregates{}
	rows := testenv.Need(o.l.Leaderboards.ReadRows(o.t.Context(), game, 0, 10_000))(o.t)
	for i, r := range rows {
		if r.Pos != int64(i)+1 {
			rt.Errorf("%s: position %d is at place %d", game, r.Pos, i+1)
		}
		if (i == 0) != (r.Kind == leaderboard.DayStartRow) || r.Holder != o.at[game][r.Pos] {
			rt.Errorf("%s: row %+v, the commit returned player %q", game, r, o.at[game][r.Pos])
		}
		if r.Kind == leaderboard.ResultRow {
			got[r.Holder] = got[r.Holder].Add(r.Aggregates)
		}
	}
	if !maps.Equal(got, want) {
		rt.Errorf("%s: sums of the rows %v, want %v", game, got, want)
	}
	for p := range 9 {
		id := fmt.Sprint("p", p)
		if totals := testenv.Need(o.l.Players.Player(o.t.Context(), game, id))(o.t).Totals; totals != want[id] {
			rt.Errorf("%s: totals of %s %+v, want %+v", game, id, totals, want[id])
		}
		if page, _, err := o.l.History.Matches(o.t.Context(), game, id, "", 100); err != nil || len(page) != played[id] {
			rt.Errorf("%s: %d matches of %s, %v, want %d", game, len(page), id, err, played[id])
		}
	}
}

func (o *expectedLedger) sums(game string) (sums map[string]leaderboard.Aggregates, played map[string]int) {
	sums, played = map[string]leaderboard.Aggregates{}, map[string]int{}
	for _, r := range o.taken {
		for _, s := range r.Standings {
			if r.Game != game || s.Bot {
				continue
			}
			played[s.Player]++
			if r.CountsForLeaderboards {
				sums[s.Player] = sums[s.Player].Add(leaderboard.Aggregates{
					Score: s.Score, TimeMS: s.TimeMS, LimitMS: s.LimitMS, Matches: 1,
					Asked: int64(s.Asked), Answered: int64(s.Answered), Correct: int64(s.Correct),
				})
			}
		}
	}
	return sums, played
}

// A reader reads while others commit. It never finds a new entry at or before a position
// that it has read, because positions are in commit order.
func TestPositionsAreInCommitOrder(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		l := openLedger(t, db)
		const writers, batches = 4, 20
		var writing sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				for b := range batches {
					id := fmt.Sprintf("m%d-%d", w, b)
					if _, err := l.Results.Commit(t.Context(), results(duel(id, 1, "p1", "p2"), duel(id+"b", 1, "p3"))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { writing.Wait(); close(done) }() // ends before the test, which reads until then
		var pos int64
		for ended := false; !ended; {
			select {
			case <-done:
				ended = true // one last read follows
			default:
			}
			for _, r := range testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, pos, 1000))(t) {
				if r.Pos != pos+1 {
					t.Fatalf("position %d was read after %d", r.Pos, pos)
				}
				pos = r.Pos
			}
		}
		if want := int64(1 + writers*batches*3); pos != want {
			t.Errorf("%d positions, want %d", pos, want)
		}
	})
}
