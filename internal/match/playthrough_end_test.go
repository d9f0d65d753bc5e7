package match

import (
	"context"
	"slices"

	"laststand/internal/protocol"
)

// checkEnd checks that the end of a match and its push agree with the oracle.
func (c *playthrough) checkEnd() {
	v := c.view()
	r, ok := c.store.result(c.plan.ID)
	switch {
	case v.Phase != Over:
		c.Fatalf("ends at %+v", v.State)
	case !ok && v.Question < 0 && v.EndReason == Closed: // no question was asked
		return
	case ok != c.plan.leavesResult(v.State):
		c.Fatalf("%+v, with a result: %v", v.State, ok)
	case !ok: // a duel without a closed question leaves only a push
		if over := frameOf(c, v.Frames[len(v.Frames)-1]); over.Type != protocol.TypeMatchOver {
			c.Fatalf("%+v ends with %+v", v.State, over)
		}
		return
	case r.Counts != (c.plan.Counts && v.hasClosedQuestion()):
		c.Fatalf("%+v leaves %+v", v.State, r)
	}
	many := len(c.oracle.players) > FullView
	if r.Paged != many {
		c.Fatalf("%d players, paged: %v", len(c.oracle.players), r.Paged)
	}
	if err := CompleteStandings(context.Background(), c.store, &r); err != nil || r.Paged {
		c.Fatalf("%+v, %v", r, err)
	}
	c.checkReason(v, r)
	c.checkStandings(r)
	c.checkTeams(r)
	c.checkShown(v)
	over := frameOf(c, v.Frames[len(v.Frames)-1])
	if len(over.Data.Standings) != len(r.Standings) && (!many || len(over.Data.Standings) != ShortView) || over.Data.Winner != r.Winner {
		c.Fatalf("%+v told of %+v", over.Data.MatchOver, r)
	}
	for i, s := range over.Data.Standings {
		if want := r.Standings[i].View(); many && s.Rank != want.Rank || !many && s.Player != want.Player {
			c.Fatalf("place %d: %+v, want %+v", i, s, want)
		}
	}
}

// checkReason checks that a match ended for a valid reason.
func (c *playthrough) checkReason(v View, r Result) {
	whole := v.Question+1 == len(c.plan.Questions)
	one := c.plan.Mode == Survival && c.oracle.remaining() <= 1
	if r.Reason == Finished && !whole && !one && v.Alive > 1 || r.Questions != c.oracle.closed {
		c.Fatalf("%+v of %+v, %d closed, %d left", r, v.State, c.oracle.closed, c.oracle.remaining())
	}
	if (r.Reason == Forfeit) != (v.Leaver != "") || c.plan.Mode != Duel && r.Reason == Forfeit {
		c.Fatalf("%+v of %+v", r, v.State)
	}
}

func (c *playthrough) checkStandings(r Result) {
	if len(r.Standings) != len(c.oracle.players) {
		c.Fatalf("%d standings of %d players", len(r.Standings), len(c.oracle.players))
	}
	for i, s := range r.Standings {
		t := c.oracle.players[s.Player]
		want := Standing{Score: t.score, Correct: t.correct, Answered: t.answered, Asked: t.asked, TimeMS: t.time, Rank: c.oracle.rank(s.Player)}
		if r.Reason == Forfeit {
			want.Rank = i + 1
		}
		got := Standing{Score: s.Score, Correct: s.Correct, Answered: s.Answered, Asked: s.Asked, TimeMS: s.TimeMS, Rank: s.Rank}
		if got != want || s.LimitMS != c.plan.LimitMS*int64(t.asked) || s.Team != t.team {
			c.Fatalf("%s has %+v, want %+v", s.Player, s, want)
		}
	}
	if r.Reason == Forfeit {
		if loser := r.Standings[1].Player; loser == r.Winner || r.Winner == "" || loser != c.store.state(c.plan.ID).Leaver {
			c.Fatalf("%+v", r)
		}
		return
	}
	if want := c.oracle.winner(c.teams()); r.Winner != want {
		c.Fatalf("%q wins, want %q: %+v", r.Winner, want, r)
	}
}

func (c *playthrough) teams() []Team {
	if c.plan.Arena == nil {
		return nil
	}
	return c.plan.Arena.Teams
}

func (c *playthrough) checkTeams(r Result) {
	for i, t := range r.Teams {
		better := slices.IndexFunc(r.Teams, func(o TeamResult) bool { return o.Score == t.Score })
		if t.Score != c.oracle.team(t.ID) || t.Rank != better+1 || i > 0 && r.Teams[i-1].Score < t.Score {
			c.Fatalf("%+v", r.Teams)
		}
	}
	if len(r.Teams) != len(c.teams()) {
		c.Fatalf("%+v", r.Teams)
	}
}

// checkShown checks that the state for a player contains the scores of the last
// reveal.
func (c *playthrough) checkShown(v View) {
	for player, t := range c.oracle.players {
		if _, read := v.Totals[player]; !read {
			continue
		}
		v.Ranks = map[string]int64{player: int64(c.oracle.rank(player))}
		s := stateView(c.plan, v, player)
		if s.Own.Score != t.score || s.Out != t.out || s.Phase != string(Over) || s.Seq != v.Seq {
			c.Fatalf("%s is shown %+v, has %+v", player, s, *t)
		}
		for _, shown := range s.Scores {
			if shown.Score != c.reveals[shown.Player] {
				c.Fatalf("%s is shown with %d, had %d", shown.Player, shown.Score, c.reveals[shown.Player])
			}
		}
	}
	if s := stateView(c.plan, v, "p_eve"); s.Own != (protocol.OwnScore{}) || s.Out || s.YourAnswer != nil {
		c.Fatalf("somebody without a seat is shown %+v", s)
	}
}
