package match

import (
	"cmp"
	"context"
	"slices"

	"laststand/internal/protocol"
)

// checkEnd checks that the end of a match and its push agree with the oracle.
func (p *playthrough) checkEnd() {
	view := p.view()
	result, ok := p.store.result(p.plan.ID)
	switch {
	case view.Phase != PhaseOver:
		p.Fatalf("ends at %+v", view.State)
	case !ok && view.Question < 0 && view.EndReason == ReasonClosed: // no question was asked
		return
	case ok != p.plan.leavesResult(view.State):
		p.Fatalf("%+v, with a result: %v", view.State, ok)
	case !ok: // a duel without a closed question leaves only a push
		if over := decodeFrame(p, view.Frames[len(view.Frames)-1]); over.Type != protocol.TypeMatchOver {
			p.Fatalf("%+v ends with %+v", view.State, over)
		}
		return
	case result.CountsForLeaderboards != (p.plan.CountsForLeaderboards && view.hasClosedQuestion()):
		p.Fatalf("%+v leaves %+v", view.State, result)
	}
	isLarge := len(p.oracle.players) > FullListPlayers
	if result.Paged != isLarge {
		p.Fatalf("%d players, paged: %v", len(p.oracle.players), result.Paged)
	}
	if err := CompleteStandings(context.Background(), p.store, &result); err != nil || result.Paged {
		p.Fatalf("%+v, %v", result, err)
	}
	p.checkReason(view, result)
	p.checkStandings(result)
	p.checkTeams(result)
	p.checkStateScores(view)
	over := decodeFrame(p, view.Frames[len(view.Frames)-1])
	if len(over.Data.Standings) != len(result.Standings) && (!isLarge || len(over.Data.Standings) != ShortListPlayers) || over.Data.Winner != result.Winner {
		p.Fatalf("match.over %+v for the result %+v", over.Data.MatchOver, result)
	}
	for i, s := range over.Data.Standings {
		if want := result.Standings[i].View(); isLarge && s.Rank != want.Rank || !isLarge && s.Player != want.Player {
			p.Fatalf("place %d: %+v, want %+v", i, s, want)
		}
	}
}

// checkReason checks that a match ended for a valid reason.
func (p *playthrough) checkReason(view View, result Result) {
	allAsked := view.Question+1 == len(p.plan.Questions)
	oneLeft := p.plan.Mode == Survival && p.oracle.countRemaining() <= 1
	if result.Reason == ReasonFinished && !allAsked && !oneLeft && view.Alive > 1 || result.Questions != p.oracle.closedQuestions {
		p.Fatalf("%+v of %+v, %d closed, %d left", result, view.State, p.oracle.closedQuestions, p.oracle.countRemaining())
	}
	if (result.Reason == ReasonForfeit) != (view.Leaver != "") || p.plan.Mode != Duel && result.Reason == ReasonForfeit {
		p.Fatalf("%+v of %+v", result, view.State)
	}
}

func (p *playthrough) checkStandings(result Result) {
	if len(result.Standings) != len(p.oracle.players) {
		p.Fatalf("%d standings of %d players", len(result.Standings), len(p.oracle.players))
	}
	for i, entry := range result.Standings {
		t := p.oracle.players[entry.Player]
		want := Standing{Score: t.score, Correct: t.correct, Answered: t.answered, Asked: t.askedQuestions, TimeMS: t.timeMS, Rank: p.oracle.rank(entry.Player)}
		if result.Reason == ReasonForfeit {
			want.Rank = i + 1
		}
		got := Standing{Score: entry.Score, Correct: entry.Correct, Answered: entry.Answered, Asked: entry.Asked, TimeMS: entry.TimeMS, Rank: entry.Rank}
		if got != want || entry.LimitMS != p.limitOf(t.askedQuestions) || entry.Team != t.team {
			p.Fatalf("%s has %+v, want %+v", entry.Player, entry, want)
		}
	}
	if result.Reason == ReasonForfeit {
		if loser := result.Standings[1].Player; loser == result.Winner || result.Winner == "" || loser != p.store.state(p.plan.ID).Leaver {
			p.Fatalf("%+v", result)
		}
		return
	}
	if want := p.oracle.winner(p.teams()); result.Winner != want {
		p.Fatalf("%q wins, want %q: %+v", result.Winner, want, result)
	}
}

// limitOf is the sum of the limits of the first questions.
func (p *playthrough) limitOf(questions int) (sum int64) {
	for i := range questions {
		limit := p.plan.LimitMS
		if len(p.plan.LimitsMS) > 0 {
			limit = p.plan.LimitsMS[i]
		}
		sum += limit
	}
	return sum
}

func (p *playthrough) teams() []Team {
	if p.plan.Arena == nil {
		return nil
	}
	return p.plan.Arena.Teams
}

// checkTeams checks that the teams are sorted by score, and equal ones as in the plan.
func (p *playthrough) checkTeams(result Result) {
	want := make([]TeamResult, 0, len(p.teams()))
	for _, team := range p.teams() {
		want = append(want, TeamResult{ID: team.ID, Name: team.Name, Score: p.oracle.teamScore(team.ID)})
	}
	slices.SortStableFunc(want, func(a, b TeamResult) int { return cmp.Compare(b.Score, a.Score) })
	for i := range want {
		want[i].Rank = 1 + slices.IndexFunc(want, func(better TeamResult) bool { return better.Score == want[i].Score })
	}
	if !slices.Equal(result.Teams, want) {
		p.Fatalf("%+v, want %+v", result.Teams, want)
	}
}

// checkStateScores checks that the state for a player contains the scores of the last
// reveal.
func (p *playthrough) checkStateScores(view View) {
	for player, t := range p.oracle.players {
		if _, isListed := view.Totals[player]; !isListed {
			continue
		}
		view.Ranks = map[string]int64{player: int64(p.oracle.rank(player))}
		state := stateView(p.plan, view, player)
		if state.Own.Score != t.score || state.Out != t.eliminated || state.Phase != string(PhaseOver) || state.Seq != view.Seq {
			p.Fatalf("%s is shown %+v, has %+v", player, state, *t)
		}
		for _, shown := range state.Scores {
			if shown.Score != p.revealedScores[shown.Player] {
				p.Fatalf("%s is shown with %d, had %d", shown.Player, shown.Score, p.revealedScores[shown.Player])
			}
		}
	}
	if state := stateView(p.plan, view, "p_eve"); state.Own != (protocol.OwnScore{}) || state.Out || state.YourAnswer != nil {
		p.Fatalf("somebody without a seat is shown %+v", state)
	}
}
