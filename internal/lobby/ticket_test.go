package lobby

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/match"
	"laststand/internal/rating"
)

func ticket(player string, r float64, joinedAt int64) Ticket {
	return Ticket{
		ID: "t_" + player, Game: "demo", JoinedAt: joinedAt,
		Seat: match.Seat{Player: player, Nickname: player, Rating: &rating.Rating{R: r, RD: 80, Sigma: 0.06}},
	}
}

func TestTheRatingWindowGrowsWithTheWait(t *testing.T) {
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
	own := ticket("own", 1500, now)
	en, zh := own, own
	en.Filter, zh.Filter = Filter{Lang: "en"}, Filter{Lang: "zh-CN"}
	withFilter := func(tk Ticket, w Filter) Ticket { tk.Filter = w; return tk }
	stranger := ticket("stranger", 0, now)
	stranger.Seat.Rating = nil
	for name, c := range map[string]struct {
		own        Ticket
		candidates []Ticket
		want       string
	}{
		"nobody":                       {own, nil, ""},
		"only itself":                  {own, []Ticket{own, ticket("own", 1500, 0)}, ""},
		"at the window's edge":         {own, []Ticket{ticket("a", 1600, now)}, "a"},
		"outside the window":           {own, []Ticket{ticket("a", 1600.5, now)}, ""},
		"lower rating":                 {own, []Ticket{ticket("a", 1400, now), ticket("b", 1399, now)}, "a"},
		"wider, the other waited":      {own, []Ticket{ticket("a", 1700, now-2000)}, "a"},
		"wider, this one waited":       {ticket("own", 1500, now-2000), []Ticket{ticket("a", 1700, now)}, "a"},
		"far, one waited for long":     {own, []Ticket{ticket("a", 9000, now-15_000)}, "a"},
		"the nearest":                  {own, []Ticket{ticket("a", 1560, now), ticket("b", 1450, now), ticket("c", 1580, now)}, "b"},
		"equally near: waited longest": {own, []Ticket{ticket("a", 1550, now-1), ticket("b", 1450, now-9), ticket("c", 1550, now-5)}, "b"},
		"no rating counts as 1500":     {own, []Ticket{stranger, ticket("b", 1501, now)}, "stranger"},
		"another filter":               {en, []Ticket{zh, withFilter(ticket("a", 1500, now), Filter{Lang: "zh-CN"})}, ""},
		"any filter":                   {en, []Ticket{ticket("a", 1590, now), withFilter(ticket("b", 1500, now), zh.Filter)}, "a"},
		"the same filter":              {en, []Ticket{withFilter(ticket("a", 1510, now), en.Filter)}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := pickOpponent(c.own, c.candidates, now)
			if ok != (c.want != "") || got.Seat.Player != c.want {
				t.Errorf("%v, %q, want %q", ok, got.Seat.Player, c.want)
			}
		})
	}
}

var (
	filters = rapid.Custom(func(t *rapid.T) Filter {
		return Filter{Category: drawWord(t, "category"), Lang: drawWord(t, "lang"), Difficulty: drawWord(t, "difficulty")}
	})
	tickets = rapid.Custom(func(t *rapid.T) Ticket {
		tk := ticket(fmt.Sprint("p_", rapid.IntRange(0, 20).Draw(t, "player")), rapid.Float64Range(0, 3000).Draw(t, "rating"), rapid.Int64Range(0, 30_000).Draw(t, "joined"))
		tk.Filter = filters.Draw(t, "filter")
		return tk
	})
)

func drawWord(t *rapid.T, label string) string {
	return rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, label)
}

func TestFiltersAreComparedAndMerged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := filters.Draw(t, "a"), filters.Draw(t, "b")
		if a.IsCompatible(b) != b.IsCompatible(a) || !a.IsCompatible(a) || !a.IsCompatible(Filter{}) || a.Merge(a) != a || a.Merge(Filter{}) != a {
			t.Fatalf("%+v and %+v", a, b)
		}
		if !a.IsCompatible(b) {
			return
		}
		both := a.Merge(b)
		if both != b.Merge(a) || both.Merge(a) != both || both.Merge(b) != both || !both.IsCompatible(a) || !both.IsCompatible(b) {
			t.Fatalf("%+v and %+v are %+v", a, b, both)
		}
	})
}

func TestPickOpponentProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		own, candidates := tickets.Draw(t, "own"), rapid.SliceOfN(tickets, 0, 10).Draw(t, "candidates")
		now := rapid.Int64Range(30_000, 60_000).Draw(t, "now")
		fits := func(c Ticket) bool {
			return c.Seat.Player != own.Seat.Player && own.Filter.IsCompatible(c.Filter) && ratingDistance(own, c) <= ratingWindow(now-min(own.JoinedAt, c.JoinedAt))
		}
		best, ok := pickOpponent(own, candidates, now)
		if ok && !fits(best) {
			t.Fatalf("%+v is not suitable", best)
		}
		for _, c := range candidates {
			if !fits(c) {
				continue
			}
			if !ok || ratingDistance(own, c) < ratingDistance(own, best) || ratingDistance(own, c) == ratingDistance(own, best) && c.JoinedAt < best.JoinedAt {
				t.Fatalf("%+v is better than %+v", c, best)
			}
			if back, ok := pickOpponent(c, []Ticket{own}, now); !ok || back.ID != own.ID {
				t.Fatalf("%+v does not pick the own ticket", c)
			}
		}
		if later, still := pickOpponent(own, candidates, now+rapid.Int64Range(0, 20_000).Draw(t, "wait")); ok && (!still || ratingDistance(own, later) > ratingDistance(own, best)) {
			t.Fatalf("%+v later, %+v before", later, best)
		}
	})
}
