package match

import (
	"context"
	"slices"

	"laststand/internal/protocol"
)

// checkEnd checks that the end of a match and its push agree with the oracle.
func (c *playthrough) checkEnd() {
	view := c.view()
	r, ok := c.store.result(c.plan.ID)
	switch {
	case view.Phase != PhaseOver:
		c.Fatalf("ends at %+v", view.State)
	case !ok && view.Question < 0 && view.EndReason == ReasonClosed: // no question was asked
		return
	case ok != c.plan.leavesResult(view.State):
		c.Fatalf("%+v, with a result: %v", view.State, ok)
	case !ok: // a duel without a closed question leaves only a push
		if over := frameOf(c, view.Frames[len(view.Frames)-1]); over.Type != protocol.TypeMatchOver {
			c.Fatalf("%+v ends with %+v", view.State, over)
		}
		return
	case r.CountsForLeaderboards != (c.plan.CountsForLeaderboards && view.hasClosedQuestion()):
		c.Fatalf("%+v leaves %+v", view.State, r)
	}
	many := len(c.oracle.players) > FullListPlayers
	if r.Paged != many {
		c.Fatalf("%d players, paged: %v", len(c.oracle.players), r.Paged)
	}
	if err := CompleteStandings(context.Background(), c.store, &r); err != nil || r.Paged {
		c.Fatalf("%+v, %v", r, err)
	}
	c.checkReason(view, r)
	c.checkStandings(r)
	c.checkTeams(r)
	c.checkStateScores(view)
	over := frameOf(c, view.Frames[len(view.Frames)-1])
	if len(over.Data.Standings) != len(r.Standings) && (!many || len(over.Data.Standings) != ShortListPlayers) || over.Data.Winner != r.Winner {
		c.Fatalf("match.over %+v for the result %+v", over.Data.MatchOver, r)
	}
	for i, s := range over.Data.Standings {
		if want := r.Standings[i].View(); many && s.Rank != want.Rank || !many && s.Player != want.Player {
			c.Fatalf("place %d: %+v, want %+v", i, s, want)
		}
	}
}

// checkReason checks that a match ended for a valid reason.
func (c *playthrough) checkReason(view View, result Result) {
	whole := view.Question+1 == len(c.plan.Questions)
	one := c.plan.Mode == Survival && c.oracle.countRemaining() <= 1
	if result.Reason == ReasonFinished && !whole && !one && view.Alive > 1 || result.Questions != c.oracle.closed {
		c.Fatalf("%+v of %+v, %d closed, %d left", result, view.State, c.oracle.closed, c.oracle.countRemaining())
	}
	if (result.Reason == ReasonForfeit) != (view.Leaver != "") || c.plan.Mode != Duel && result.Reason == ReasonForfeit {
		c.Fatalf("%+v of %+v", result, view.State)
	}
}

func (c *playthrough) checkStandings(result Result) {
	if len(result.Standings) != len(c.oracle.players) {
		c.Fatalf("%d standings of %d players", len(result.Standings), len(c.oracle.players))
	}
	for i, entry := range result.Standings {
		t := c.oracle.players[entry.Player]
		want := Standing{Score: t.score, Correct: t.correct, Answered: t.answered, Asked: t.asked, TimeMS: t.time, Rank: c.oracle.rank(entry.Player)}
		if result.Reason == ReasonForfeit {
			want.Rank = i + 1
		}
		got := Standing{Score: entry.Score, Correct: entry.Correct, Answered: entry.Answered, Asked: entry.Asked, TimeMS: entry.TimeMS, Rank: entry.Rank}
		if got != want || entry.LimitMS != c.plan.LimitMS*int64(t.asked) || entry.Team != t.team {
			c.Fatalf("%s has %+v, want %+v", entry.Player, entry, want)
		}
	}
	if result.Reason == ReasonForfeit {
		if loser := result.Standings[1].Player; loser == result.Winner || result.Winner == "" || loser != c.store.state(c.plan.ID).Leaver {
			c.Fatalf("%+v", result)
		}
		return
	}
	if want := c.oracle.winner(c.teams()); result.Winner != want {
		c.Fatalf("%q wins, want %q: %+v", result.Winner, want, result)
	}
}

func (c *playthrough) teams() []Team {
	if c.plan.Arena == nil {
		return nil
	}
	return c.plan.Arena.Teams
}

func (c *playthrough) checkTeams(result Result) {
	for i, t := range result.Teams {
		better := slices.IndexFunc(result.Teams, func(o TeamResult) bool { return o.Score == t.Score })
		if t.Score != c.oracle.teamScore(t.ID) || t.Rank != better+1 || i > 0 && result.Teams[i-1].Score < t.Score {
			c.Fatalf("%+v", result.Teams)
		}
	}
	if len(result.Teams) != len(c.teams()) {
		c.Fatalf("%+v", result.Teams)
	}
}

// checkStateScores checks that the state for a player contains the scores of the last
// reveal.
func (c *playthrough) checkStateScores(view View) {
	for player, t := range c.oracle.players {
		if _, read := view.Totals[player]; !read {
			continue
		}
		view.Ranks = map[string]int64{player: int64(c.oracle.rank(player))}
		s := stateView(c.plan, view, player)
		if s.Own.Score != t.score || s.Out != t.out || s.Phase != string(PhaseOver) || s.Seq != view.Seq {
			c.Fatalf("%s is shown %+v, has %+v", player, s, *t)
		}
		for _, shown := range s.Scores {
			if shown.Score != c.reveals[shown.Player] {
				c.Fatalf("%s is shown with %d, had %d", shown.Player, shown.Score, c.reveals[shown.Player])
			}
		}
	}
	if s := stateView(c.plan, view, "p_eve"); s.Own != (protocol.OwnScore{}) || s.Out || s.YourAnswer != nil {
		c.Fatalf("somebody without a seat is shown %+v", s)
	}
}
