package main

import (
	"encoding/json"
	"fmt"
	"testing"
)

// check checks all frames of the player against the rules.
func (g *duelTranscript) check(t *testing.T) {
	t.Helper()
	if len(g.asked) != questions || len(g.closed) != questions || len(g.over.Standings) != 2 {
		t.Fatalf("%s: %d questions asked, %d closed, standings %v", g.match, len(g.asked), len(g.closed), g.over.Standings)
	}
	scores, times, right := map[string]int64{}, map[string]int64{}, map[string]int{}
	for i, c := range g.closed {
		if g.asked[i].OpensAt < g.found.StartsAt || g.asked[i].ClosesAt-g.asked[i].OpensAt != limitMS {
			t.Errorf("%s: question %d opens %d and closes %d", g.match, i, g.asked[i].OpensAt, g.asked[i].ClosesAt)
		}
		for _, r := range c.Results {
			points, elapsed := int64(0), int64(limitMS)
			if r.Correct != isRight(c.Answer, r.Given) {
				t.Errorf("%s: question %d: given %s, the answer is %v, and correct is %v", g.match, i, r.Given, c.Answer, r.Correct)
			}
			if r.Correct {
				elapsed = *r.ElapsedMS
				points = 100 + 100*(limitMS-elapsed)/limitMS
				right[r.Player]++
			}
			scores[r.Player] += points
			times[r.Player] += elapsed
			if r.Points != points || r.Score != scores[r.Player] {
				t.Errorf("%s: question %d gave %d points, score %d; want %d, %d", g.match, i, r.Points, r.Score, points, scores[r.Player])
			}
			if r.Player == g.guest.ID && *r.ElapsedMS != g.answers[i].ElapsedMS {
				t.Errorf("%s: question %d took %d ms, and `answered` said %d", g.match, i, *r.ElapsedMS, g.answers[i].ElapsedMS)
			}
		}
	}
	for _, s := range g.over.Standings {
		if s.Score != scores[s.Player] || s.TimeMS != times[s.Player] || s.Correct != right[s.Player] || s.Asked != questions {
			t.Errorf("%s: standing %+v; want score %d, time %d, right %d", g.match, s, scores[s.Player], times[s.Player], right[s.Player])
		}
	}
	first, second := g.over.Standings[0], g.over.Standings[1]
	draw := first.Score == second.Score && first.TimeMS == second.TimeMS
	if ahead := first.Score > second.Score || first.Score == second.Score && first.TimeMS <= second.TimeMS; !ahead ||
		draw != (g.over.Winner == "") || !draw && g.over.Winner != first.Player {
		t.Errorf("%s: the winner of %+v is %q", g.match, g.over.Standings, g.over.Winner)
	}
}

// isRight judges an answer by the frame that closed the question, for the kinds that
// player.RandomAnswer can get right.
func isRight(answer any, given json.RawMessage) bool {
	stated, _ := json.Marshal(answer)
	var g, a map[string]any
	if json.Unmarshal(given, &g) != nil || json.Unmarshal(stated, &a) != nil {
		return false
	}
	for _, numberField := range []string{"choice", "choices"} {
		if v, ok := g[numberField]; ok {
			return fmt.Sprint(v) == fmt.Sprint(a[numberField])
		}
	}
	value, isNumber := a["value"].(float64)
	return isNumber && g["value"].(float64) >= value-a["tolerance"].(float64) && g["value"].(float64) <= value+a["tolerance"].(float64)
}
