package lobby

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

func newTestTicket(player string, ratingPoints float64, joinedAt int64) Ticket {
	return Ticket{
		ID: "t_" + player, Game: "demo", JoinedAt: joinedAt,
		Seat: match.Seat{Player: player, Nickname: player, Rating: &match.Rating{R: ratingPoints, RD: 80, Sigma: 0.06}},
	}
}

func TestRatingWindowPerWait(t *testing.T) {
	t.Parallel()
	for waited, want := range map[int64]float64{0: 100, 1000: 150, 2500: 225, 14_999: 849.95, 15_000: 1e9, 1 << 40: 1e9} {
		if got := ratingWindow(waited); math.Abs(got-want) > 1e-9 {
			t.Errorf("after %d ms: %g, want %g", waited, got, want)
		}
	}
}

func TestPickOpponentPrefersTheNearestRating(t *testing.T) {
	t.Parallel()
	const now = 100_000
	own := newTestTicket("own", 1500, now)
	englishOnly, chineseOnly := own, own
	englishOnly.Filter, chineseOnly.Filter = quiz.Filter{Lang: "en"}, quiz.Filter{Lang: "zh-CN"}
	withFilter := func(tk Ticket, w quiz.Filter) Ticket { tk.Filter = w; return tk }
	unrated := newTestTicket("stranger", 0, now)
	unrated.Seat.Rating = nil
	for name, testCase := range map[string]struct {
		own        Ticket
		candidates []Ticket
		want       string
	}{
		"nobody":                       {own, nil, ""},
		"only itself":                  {own, []Ticket{own, newTestTicket("own", 1500, 0)}, ""},
		"at the window's edge":         {own, []Ticket{newTestTicket("a", 1600, now)}, "a"},
		"outside the window":           {own, []Ticket{newTestTicket("a", 1600.5, now)}, ""},
		"lower rating":                 {own, []Ticket{newTestTicket("a", 1400, now), newTestTicket("b", 1399, now)}, "a"},
		"wider, the other waited":      {own, []Ticket{newTestTicket("a", 1700, now-2000)}, "a"},
		"wider, this one waited":       {newTestTicket("own", 1500, now-2000), []Ticket{newTestTicket("a", 1700, now)}, "a"},
		"far, one waited for long":     {own, []Ticket{newTestTicket("a", 9000, now-15_000)}, "a"},
		"the nearest":                  {own, []Ticket{newTestTicket("a", 1560, now), newTestTicket("b", 1450, now), newTestTicket("c", 1580, now)}, "b"},
		"equally near: waited longest": {own, []Ticket{newTestTicket("a", 1550, now-1), newTestTicket("b", 1450, now-9), newTestTicket("c", 1550, now-5)}, "b"},
		"no rating counts as 1500":     {own, []Ticket{unrated, newTestTicket("b", 1501, now)}, "stranger"},
		"another filter":               {englishOnly, []Ticket{chineseOnly, withFilter(newTestTicket("a", 1500, now), quiz.Filter{Lang: "zh-CN"})}, ""},
		"any filter":                   {englishOnly, []Ticket{newTestTicket("a", 1590, now), withFilter(newTestTicket("b", 1500, now), chineseOnly.Filter)}, "a"},
		"the same filter":              {englishOnly, []Ticket{withFilter(newTestTicket("a", 1510, now), englishOnly.Filter)}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := pickOpponent(testCase.own, testCase.candidates, now)
			if ok != (testCase.want != "") || got.Seat.Player != testCase.want {
				t.Errorf("%v, %q, want %q", ok, got.Seat.Player, testCase.want)
			}
		})
	}
}

var (
	anyFilter = rapid.Custom(func(t *rapid.T) quiz.Filter {
		return quiz.Filter{Category: drawWord(t, "category"), Lang: drawWord(t, "lang"), Difficulty: drawWord(t, "difficulty")}
	})
	anyTicket = rapid.Custom(func(t *rapid.T) Ticket {
		tk := newTestTicket(fmt.Sprint("p_", rapid.IntRange(0, 20).Draw(t, "player")), rapid.Float64Range(0, 3000).Draw(t, "rating"), rapid.Int64Range(0, 30_000).Draw(t, "joined"))
		tk.Filter = anyFilter.Draw(t, "filter")
		return tk
	})
)

func drawWord(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, label)
}

func TestFiltersAreComparedAndMerged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyFilter.Draw(t, "a"), anyFilter.Draw(t, "b")
		if a.IsCompatible(b) != b.IsCompatible(a) || !a.IsCompatible(a) || !a.IsCompatible(quiz.Filter{}) || a.Merge(a) != a || a.Merge(quiz.Filter{}) != a {
			t.Fatalf("%+v and %+v", a, b)
		}
		if !a.IsCompatible(b) {
			return
		}
		merged := a.Merge(b)
		if merged != b.Merge(a) || merged.Merge(a) != merged || merged.Merge(b) != merged || !merged.IsCompatible(a) || !merged.IsCompatible(b) {
			t.Fatalf("%+v and %+v are %+v", a, b, merged)
		}
	})
}

func TestPickOpponentPicksBestAndIsMutual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		own, candidates := anyTicket.Draw(t, "own"), rapid.SliceOfN(anyTicket, 0, 10).Draw(t, "candidates")
		now := rapid.Int64Range(30_000, 60_000).Draw(t, "now")
		isSuitable := func(candidate Ticket) bool {
			return candidate.Seat.Player != own.Seat.Player && own.Filter.IsCompatible(candidate.Filter) && ratingDistance(own, candidate) <= ratingWindow(now-min(own.JoinedAt, candidate.JoinedAt))
		}
		best, ok := pickOpponent(own, candidates, now)
		if ok && !isSuitable(best) {
			t.Fatalf("%+v is not suitable", best)
		}
		for _, candidate := range candidates {
			if !isSuitable(candidate) {
				continue
			}
			if !ok || ratingDistance(own, candidate) < ratingDistance(own, best) || ratingDistance(own, candidate) == ratingDistance(own, best) && candidate.JoinedAt < best.JoinedAt {
				t.Fatalf("%+v is better than %+v", candidate, best)
			}
			if pickedByCandidate, ok := pickOpponent(candidate, []Ticket{own}, now); !ok || pickedByCandidate.ID != own.ID {
				t.Fatalf("%+v does not pick the own ticket", candidate)
			}
		}
		if laterPick, isPickedLater := pickOpponent(own, candidates, now+rapid.Int64Range(0, 20_000).Draw(t, "wait")); ok && (!isPickedLater || ratingDistance(own, laterPick) > ratingDistance(own, best)) {
			t.Fatalf("%+v later, %+v before", laterPick, best)
		}
	})
}

// When all tickets are gone, the memory of a large number of tickets is
// released.
func TestMemoryOfManyTicketsIsReleased(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		synctest.Wait()
		mapAddress := func() uintptr { return reflect.ValueOf(n.tickets).Pointer() }
		before := mapAddress()
		const manyTickets = 100
		for i := range manyTickets {
			n.scheduleTry(Ticket{ID: fmt.Sprint(i), Game: "demo", Seat: match.Seat{Player: fmt.Sprint(i)}}, time.Hour, false)
		}
		for i := range manyTickets {
			if mapAddress() != before || !n.HasTicket("demo", fmt.Sprint(i)) {
				test.Fatalf("the map was replaced, or ticket %d does not wait", i)
			}
			n.drop(playerKey{"demo", fmt.Sprint(i)}, fmt.Sprint(i))
			if n.HasTicket("demo", fmt.Sprint(i)) {
				test.Fatalf("ticket %d still waits", i)
			}
		}
		if mapAddress() == before {
			test.Error("the memory of many tickets was not released")
		}
	})
}
