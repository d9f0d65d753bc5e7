package redisboard_test

import (
	"errors"
	"reflect"
	"testing"

	lb "laststand/internal/leaderboard"
)

func TestInspectSeesEntriesAndTheirKeys(t *testing.T) {
	eachShelf(t, func(t *testing.T, s *shelf) {
		g := s.begin(t, "a", "")
		if _, err := s.Inspect(t.Context(), g, s.cfg.Rankings(), nil); !errors.Is(err, lb.ErrStale) {
			t.Fatalf("inspecting a copy that is being loaded: %v", err)
		}
		held := crowd(3)
		held[2].Parts = lb.Parts{Score: 7, Matches: 1, Asked: 3} // too few for accuracy and time
		ghost := s.enter(players("all"), lb.Held{ID: "ghost", Newest: 9, Parts: right(1)})
		ghost.Put = nil
		step := s.step(10, s.enter(players("all"), held...), ghost)
		step.Rolls = map[lb.Window]lb.Roll{"7d": {Lo: [2]string{"2026-11-14", "2026-11-15"}}}
		s.commit(t, step)
		wants := []lb.Want{
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
		for i, h := range []lb.Held{held[2], held[0]} {
			keys[i] = map[lb.Order]float64{}
			for _, o := range s.cfg.Rankings() {
				if lb.Rankable(o, h.Parts, s.cfg.MinAnswers) {
					keys[i][o] = lb.Key(o, h.Parts, s.cfg.Weights)
				}
			}
		}
		want := []lb.Inspected{
			{Content: lb.Content{Held: []lb.Held{held[2], held[0]}, Entries: 3}, Keys: keys, Ranked: sizes},
			{Ranked: none},
			{Content: lb.Content{Entries: 3}, Ranked: sizes},
		}
		if !reflect.DeepEqual(got.Boards, want) {
			t.Fatalf("saw %+v, want %+v", got.Boards, want)
		}
	})
}
