package ledger

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/testenv"
)

// ledgerModel computes in plain Go what the ledger of one game must contain.
type ledgerModel struct {
	now            int64
	day            string
	limit          int64
	rows           []leaderboard.Row // without ids
	results        map[string]match.Result
	entryPositions map[string][]int64 // by match: the positions of its entries
	correctionOf   map[int64]int64    // by position of an entry: the position of its correction
	duels          map[string]int64   // number of duels by day and pair
	teams          map[string]string
	version        map[string]int64
}

func newLedgerModel(limit int64) *ledgerModel {
	return &ledgerModel{
		limit: limit, results: map[string]match.Result{}, entryPositions: map[string][]int64{}, correctionOf: map[int64]int64{},
		duels: map[string]int64{}, teams: map[string]string{}, version: map[string]int64{},
	}
}

func (m *ledgerModel) add(r leaderboard.Row) int64 {
	r.Pos, r.Day, r.CommittedAt = int64(len(m.rows))+1, m.day, m.now
	m.rows = append(m.rows, r)
	return r.Pos
}

// startDays starts the days up to today.
func (m *ledgerModel) startDays() {
	today := civilDay(m.now, time.UTC)
	for m.day < today {
		next := today
		if m.day != "" {
			d, _ := time.Parse(time.DateOnly, m.day)
			next = d.AddDate(0, 0, 1).Format(time.DateOnly)
		}
		m.day = next
		m.add(leaderboard.Row{Kind: leaderboard.DayStartRow})
	}
}

// commit adds a result, and reports whether it counts.
func (m *ledgerModel) commit(r match.Result) bool {
	m.startDays()
	if known, ok := m.results[r.Match]; ok {
		return known.CountsForLeaderboards
	}
	if r.Mode == match.Duel && r.CountsForLeaderboards && m.limit > 0 {
		key := m.day + pairKey(r)
		r.CountsForLeaderboards = m.duels[key] < m.limit
		if r.CountsForLeaderboards {
			m.duels[key]++
		}
	}
	m.results[r.Match] = r
	if !r.CountsForLeaderboards {
		return false
	}
	inTeam := map[string]leaderboard.Aggregates{}
	for _, s := range r.Standings {
		parts := leaderboard.Aggregates{
			Score: s.Score, TimeMS: s.TimeMS, LimitMS: s.LimitMS, Matches: 1,
			Asked: int64(s.Asked), Answered: int64(s.Answered), Correct: int64(s.Correct),
		}
		inTeam[s.Team] = inTeam[s.Team].Add(parts)
		m.addResult(r.Match, leaderboard.Players, s.Player, parts)
	}
	for _, t := range r.Teams {
		if parts, ok := inTeam[t.ID]; ok {
			parts.Score, parts.Matches = t.Score, 1
			m.addResult(r.Match, leaderboard.Teams, t.ID, parts)
			m.teams[t.ID] = t.Name
		}
	}
	return true
}

func pairKey(r match.Result) string {
	ids := []string{r.Standings[0].Player, r.Standings[1].Player}
	return fmt.Sprint(slices.Sorted(slices.Values(ids)))
}

func (m *ledgerModel) addResult(id string, kind leaderboard.Kind, holder string, p leaderboard.Aggregates) {
	pos := m.add(leaderboard.Row{Kind: leaderboard.ResultRow, HolderKind: kind, Holder: holder, Aggregates: p})
	m.entryPositions[id] = append(m.entryPositions[id], pos)
}

// disqualify corrects the entries that still count, and returns how many. ok is false for
// an unknown match or player.
func (m *ledgerModel) disqualify(id, player string) (rows int, ok bool) {
	r, known := m.results[id]
	if !known || player != "" && !slices.ContainsFunc(r.Standings, func(s match.Standing) bool { return s.Player == player }) {
		return 0, false
	}
	for _, pos := range m.entryPositions[id] {
		row := m.rows[pos-1]
		if m.correctionOf[pos] > 0 || player != "" && (row.HolderKind != leaderboard.Players || row.Holder != player) {
			continue
		}
		if rows == 0 {
			m.startDays()
		}
		rows++
		m.correctionOf[pos] = int64(len(m.rows)) + 1
		c := leaderboard.Row{Kind: leaderboard.CorrectionRow, TargetDay: row.Day, HolderKind: row.HolderKind, Holder: row.Holder, Aggregates: negate(row.Aggregates)}
		for _, s := range m.sums(int64(len(m.rows))+1, row.HolderKind, row.Holder) {
			c.Newest = max(c.Newest, s.Newest)
			if s.Day == row.Day {
				c.NewestOfTargetDay = s.Newest
			}
		}
		m.add(c)
	}
	if rows > 0 {
		m.version[m.rows[m.entryPositions[id][0]-1].Day]++
	}
	return rows, true
}

// sums returns the sums of a holder's rows up to a position; holder "" means all holders.
func (m *ledgerModel) sums(upTo int64, kind leaderboard.Kind, holder string) []leaderboard.DaySum {
	type key struct {
		whose       leaderboard.Kind
		holder, day string
	}
	sums := map[key]leaderboard.DaySum{}
	for _, r := range m.rows[:min(upTo, int64(len(m.rows)))] {
		back := m.correctionOf[r.Pos]
		if r.Kind != leaderboard.ResultRow || back > 0 && back <= upTo || holder != "" && (r.HolderKind != kind || r.Holder != holder) {
			continue
		}
		k := key{r.HolderKind, r.Holder, r.Day}
		s := leaderboard.DaySum{HolderKind: r.HolderKind, Holder: r.Holder, Day: r.Day, Newest: r.Pos, CommittedAt: r.CommittedAt}
		s.Aggregates = sums[k].Aggregates.Add(r.Aggregates)
		sums[k] = s
	}
	return slices.SortedFunc(maps.Values(sums), func(a, b leaderboard.DaySum) int {
		return cmp.Or(cmp.Compare(a.HolderKind, b.HolderKind), cmp.Compare(a.Holder, b.Holder), cmp.Compare(a.Day, b.Day))
	})
}

// The order of these ids by bytes differs from their order in a dictionary.
var (
	modelPlayers = []string{"p_a", "pA", "pB", "p-b", "pa.1"}
	modelTeams   = []string{"red", "Blue", "pA"} // one has a player's id
)

// drawResult draws a duel or an arena with teams.
func drawResult(t *rapid.T) match.Result {
	n := rapid.IntRange(0, 40).Draw(t, "match")
	players := rapid.Permutation(modelPlayers).Draw(t, "players")[:2+n%3]
	r := duel(fmt.Sprint("m", n), int64(n), players...)
	r.CountsForLeaderboards = n%7 != 0
	if len(players) == 2 {
		return r
	}
	r.Mode = match.Buzzer
	for i, id := range modelTeams {
		r.Teams = append(r.Teams, match.TeamResult{Rank: i + 1, ID: id, Name: fmt.Sprint(id, " of ", n), Score: int64(9 - i)})
	}
	for i := range r.Standings {
		r.Standings[i].Team = modelTeams[rapid.IntRange(0, 1).Draw(t, "team")]
	}
	return r
}

const dayMS = 24 * 3600 * 1000

// ledgerHistory runs randomly drawn steps on a ledger and its model.
type ledgerHistory struct {
	t *testing.T
	l clockLedger
	m *ledgerModel

	versions map[int64]string // of days, as far as they were seen
}

func (h *ledgerHistory) runStep(rt *rapid.T) {
	switch rapid.IntRange(0, 9).Draw(rt, "step") {
	case 0, 1, 2, 3:
		var batch []match.Result
		var want []bool
		for range rapid.IntRange(1, 3).Draw(rt, "batch") {
			r := drawResult(rt)
			if !slices.ContainsFunc(batch, func(o match.Result) bool { return o.Match == r.Match }) {
				batch, want = append(batch, r), append(want, h.m.commit(r))
			}
		}
		for i, c := range testenv.Need(h.l.Results.Commit(h.t.Context(), batch))(h.t) {
			if c.CountsForLeaderboards != want[i] {
				rt.Errorf("%s counted: %v", batch[i].Match, c.CountsForLeaderboards)
			}
		}
	case 4:
		h.m.now += rapid.SampledFrom([]int64{1, dayMS / 2, dayMS, 3 * dayMS, -dayMS}).Draw(rt, "pass")
		h.m.now = max(h.m.now, 0)
		h.l.setClock(h.t, h.m.now)
	case 5:
		h.m.startDays()
		testenv.Need(h.l.Days.StartNewDays(h.t.Context(), game))(h.t)
	case 6, 7:
		h.disqualify(rt)
	case 8: // some pages, as if killed then
		for range rapid.IntRange(1, 4).Draw(rt, "pages") {
			if d, over, err := h.l.Days.nextUnsummed(h.t.Context(), game); err != nil || over {
				testenv.Need(h.l.Days.sumNextPage(h.t.Context(), d))(h.t)
			}
		}
	case 9:
		testenv.Need(h.l.Days.SumDays(h.t.Context(), game))(h.t)
	}
}

func (h *ledgerHistory) disqualify(rt *rapid.T) {
	id := fmt.Sprint("m", rapid.IntRange(0, 41).Draw(rt, "match"))
	player := rapid.SampledFrom(append([]string{"", "", "nobody"}, modelPlayers...)).Draw(rt, "player")
	want, ok := h.m.disqualify(id, player)
	done, err := h.l.Corrections.Disqualify(h.t.Context(), Disqualification{Game: game, Match: id, Player: player, Reason: "cheated", By: "op"})
	if done != want || (err == nil) != ok {
		rt.Errorf("disqualified %q in %s: %+v, %v, want %d rows, found %v", player, id, done, err, want, ok)
	}
}

func (h *ledgerHistory) check(rt *rapid.T) {
	ctx := h.t.Context()
	rows := testenv.Need(h.l.Leaderboards.ReadRows(ctx, game, 0, 10_000))(h.t)
	for i := range rows {
		rows[i].ID = ""
	}
	if !slices.Equal(rows, h.m.rows) {
		rt.Fatalf("rows\n%+v, want\n%+v", rows, h.m.rows)
	}
	all := h.m.sums(int64(len(rows)), "", "")
	if got := readSnapshot(h.t, h.l.Ledger); !slices.Equal(got, all) {
		rt.Errorf("snapshot\n%+v, want\n%+v", got, all)
	}
	days := map[string]bool{"1969-12-31": true}
	for _, r := range rows {
		days[r.Day] = true
	}
	for day := range days {
		h.checkDay(rt, day, all)
	}
	h.checkHolders(rt, int64(len(rows)))
	if got := testenv.Need(h.l.Names.TeamNames(ctx, game, modelTeams))(h.t); !maps.Equal(got, h.m.teams) {
		rt.Errorf("teams %v, want %v", got, h.m.teams)
	}
	one, other := modelPlayers[0], modelPlayers[1]
	want := h.m.duels[max(h.m.day, civilDay(h.m.now, time.UTC))+fmt.Sprint(slices.Sorted(slices.Values(modelPlayers[:2])))]
	if got := testenv.Need(h.l.Results.PairDuels(ctx, game, other, one))(h.t); got != want {
		rt.Errorf("%d duels of %s and %s, want %d", got, one, other, want)
	}
	for id, r := range h.m.results {
		if got := testenv.Need(h.l.History.Match(ctx, game, id))(h.t); got.CountsForLeaderboards != r.CountsForLeaderboards {
			rt.Errorf("%s is recorded to count: %v", id, got.CountsForLeaderboards)
		}
	}
}

func (h *ledgerHistory) checkDay(rt *rapid.T, day string, all []leaderboard.DaySum) {
	for _, kind := range leaderboard.Kinds() {
		want := slices.DeleteFunc(slices.Clone(all), func(s leaderboard.DaySum) bool { return s.Day != day || s.HolderKind != kind })
		if got := readDaySums(h.t, h.l.Ledger, day, kind); !slices.Equal(got, want) {
			rt.Errorf("%s of %s\n%+v, want\n%+v", kind, day, got, want)
		}
	}
	version := testenv.Need(h.l.Leaderboards.DayVersion(h.t.Context(), game, day))(h.t)
	of := fmt.Sprintf("%s corrected %d times, over: %v", day, h.m.version[day], day < h.m.day)
	if was, known := h.versions[version]; known && was != of && version != 0 {
		rt.Errorf("version %d of both %s and %s", version, was, of)
	}
	h.versions[version] = of
}

func (h *ledgerHistory) checkHolders(rt *rapid.T, head int64) {
	ctx := h.t.Context()
	upTo := rapid.Int64Range(0, head+1).Draw(rt, "up to")
	for _, kind := range leaderboard.Kinds() {
		given := map[string]bool{}
		totals := map[string]leaderboard.Aggregates{}
		for _, r := range h.m.rows {
			if r.HolderKind == kind {
				given[r.Holder] = true
				totals[r.Holder] = totals[r.Holder].Add(r.Aggregates)
			}
		}
		var got []string
		for page := []string{""}; len(page) > 0; got = append(got, page...) {
			page = testenv.Need(h.l.Leaderboards.ReadHolders(ctx, game, kind, page[len(page)-1], 2))(h.t)
		}
		if want := slices.Sorted(maps.Keys(given)); !slices.Equal(got, want) {
			rt.Errorf("holders %q, want %q", got, want)
		}
		var want []leaderboard.DaySum
		for _, s := range h.m.sums(upTo, "", "") {
			if s.HolderKind == kind {
				want = append(want, s)
			}
		}
		slices.Reverse(got)
		if sums := testenv.Need(h.l.Leaderboards.ReadSums(ctx, game, upTo, kind, append(got, "nobody")))(h.t); !reflect.DeepEqual(sums, want) {
			rt.Errorf("sums up to %d\n%+v, want\n%+v", upTo, sums, want)
		}
		if kind == leaderboard.Teams {
			continue
		}
		for _, id := range modelPlayers {
			if got := testenv.Need(h.l.Players.Player(ctx, game, id))(h.t).Totals; got != totals[id] {
				rt.Errorf("totals of %s %+v, want %+v", id, got, totals[id])
			}
		}
	}
}

func readSnapshot(t *testing.T, l *Ledger) (all []leaderboard.DaySum) {
	t.Helper()
	err := l.Leaderboards.Snapshot(t.Context(), game, func(s leaderboard.Snapshot) error {
		for sum, err := range s.Sums {
			if err != nil {
				return err
			}
			all = append(all, sum)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func readDaySums(t *testing.T, l *Ledger, day string, kind leaderboard.Kind) (all []leaderboard.DaySum) {
	t.Helper()
	err := l.Leaderboards.ReadDaySums(t.Context(), game, day, kind, func(s leaderboard.DaySum) error {
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// After any sequence of steps, the ledger contains what its model contains.
func TestTheLedgerBehavesLikeItsModel(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		l := openWithClock(t, db, time.UTC)
		l.Days.sumPageSize = 3
		for _, id := range modelPlayers {
			addPlayer(t, l.Ledger, id)
		}
		rapid.Check(t, func(rt *rapid.T) {
			deleteAllResults(t, l.Ledger)
			l.setClock(t, 0)
			l.Results.pairDuelLimits = map[string]int64{game: rapid.Int64Range(0, 2).Draw(rt, "limit")}
			h := ledgerHistory{t, l, newLedgerModel(l.Results.pairDuelLimits[game]), map[int64]string{}}
			for range rapid.IntRange(1, 40).Draw(rt, "steps") {
				h.runStep(rt)
			}
			h.check(rt)
		})
	})
}
