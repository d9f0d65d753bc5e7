package redisboard_test

import (
	"errors"
	"reflect"
	"testing"

	lb "laststand/internal/leaderboard"
)

func TestInspectSeesEntriesAndTheirKeys(t *testing.T) {
	eachStore(t, func(t *testing.T, s *storeFixture) {
		g := s.begin(t, "a", "")
		if _, err := s.Inspect(t.Context(), g, s.cfg.Rankings(), nil); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("inspecting a board set that is being loaded: %v", err)
		}
		held := manyEntries(3)
		held[2].Aggregates = lb.Aggregates{Score: 7, Matches: 1, Asked: 3} // too few for accuracy and time
		ghost := s.addEntries(players("all"), lb.BoardEntry{ID: "ghost", Newest: 9, Aggregates: newAggregates(1)})
		ghost.Put = nil
		step := s.step(10, s.addEntries(players("all"), held...), ghost)
		step.Rolling = map[lb.Window]lb.RollingBoards{"7d": {FirstDay: [2]string{"2026-11-14", "2026-11-15"}}}
		s.commit(t, step)
		wants := []lb.EntryRequest{
			{Board: players("all"), IDs: []string{"p0002", "nobody", "p0000", "ghost"}},
			{Board: players("7d.0"), IDs: []string{"p0000"}},
			{Board: players("all")},
		}
		got, err := s.Inspect(t.Context(), g, s.cfg.Rankings(), wants)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Progress, step.Progress) || len(got.Boards) != 3 {
			t.Fatalf("saw %+v, want %+v", got.Progress, step.Progress)
		}
		sizes := map[lb.Order]int64{lb.ByValue: 4, lb.ByScore: 4, lb.ByMatches: 4, lb.ByAccuracy: 3, lb.ByTime: 3}
		none := map[lb.Order]int64{lb.ByValue: 0, lb.ByScore: 0, lb.ByMatches: 0, lb.ByAccuracy: 0, lb.ByTime: 0}
		keys := make([]map[lb.Order]float64, 2)
		for i, h := range []lb.BoardEntry{held[2], held[0]} {
			keys[i] = map[lb.Order]float64{}
			for _, o := range s.cfg.Rankings() {
				if lb.Rankable(o, h.Aggregates, s.cfg.MinAnswers) {
					keys[i][o] = lb.Key(o, h.Aggregates, s.cfg.Weights)
				}
			}
		}
		want := []lb.Inspected{
			{EntryAnswer: lb.EntryAnswer{Found: []lb.BoardEntry{held[2], held[0]}, Size: 3}, Keys: keys, Ranked: sizes},
			{Ranked: none},
			{EntryAnswer: lb.EntryAnswer{Size: 3}, Ranked: sizes},
		}
		if !reflect.DeepEqual(got.Boards, want) {
			t.Fatalf("saw %+v, want %+v", got.Boards, want)
		}
	})
}
