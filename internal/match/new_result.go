package match

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// newResult returns the result of a match that ends. In a match of over FullListPlayers
// players, CompleteStandings adds the standings later.
func newResult(plan *Plan, view View, now int64) *Result {
	result := &Result{
		Match: plan.ID, Game: plan.Game, Mode: plan.Mode, StartedAt: view.StartedAt, OverAt: now,
		Reason: cmp.Or(view.EndReason, ReasonFinished), Questions: view.countedQuestions(), CountsForLeaderboards: plan.CountsForLeaderboards && view.hasClosedQuestion(),
		Firsts: view.Firsts, Paged: view.Players > FullListPlayers, Rules: plan.completeRules(),
	}
	if result.StartedAt == 0 { // forfeited during the countdown
		result.StartedAt = now
	}
	if plan.Arena != nil {
		result.ArenaID, result.Teams = plan.Arena.ID, teamResults(plan.Arena, view.Teams)
	}
	standings := rankedStandings(plan, view, plan.listedSeats(view))
	result.Winner = winnerID(plan, result.Teams, standings)
	if result.Paged {
		return result
	}
	result.Standings = standings
	if plan.Rated && view.hasClosedQuestion() {
		addProvisionalRatings(plan, result)
	}
	return result
}

// countedQuestions is the number of questions that closed and are not void.
func (v View) countedQuestions() int { return v.RevealedQuestions() - len(v.Voids) }

// rankedStandings returns the standings of seats, best first. Equal ones share a rank.
func rankedStandings(plan *Plan, view View, seats []Seat) []Standing {
	all := make([]Standing, 0, len(seats))
	for _, seat := range seats {
		all = append(all, standingFor(plan, view, seat))
	}
	rank(all, plan.Mode, view.Leaver)
	return all
}

// rank sorts standings, best first, and sets their ranks. Equal ones share a rank. leaver is
// the player who forfeited a duel, "" for none.
func rank(all []Standing, mode Mode, leaver string) {
	compare := func(a, b Standing) int { return compareStandings(mode, leaver, a, b) }
	slices.SortStableFunc(all, compare)
	for i := range all {
		all[i].Rank = i + 1
		if i > 0 && compare(all[i-1], all[i]) == 0 {
			all[i].Rank = all[i-1].Rank
		}
	}
}

func standingFor(plan *Plan, view View, seat Seat) Standing {
	t := view.revealedTotals(seat.Player)
	s := Standing{
		Player: seat.Player, Nickname: seat.Nickname, Team: seat.Team, Bot: seat.Bot,
		Score: t.Score, Correct: int(t.Correct), Answered: int(t.Answered), Asked: view.countedQuestions(), HasLeft: t.HasLeft,
	}
	if plan.Mode == Survival {
		s.Asked, s.Answered, s.survived = view.askedCount(t), view.answeredCount(t), t.LastCorrect
	}
	s.LimitMS = plan.sumLimits(s.Asked, view.Voids)
	s.TimeMS = s.LimitMS - t.SavedMS
	return s
}

// teamResults ranks the teams of an arena by their score.
func teamResults(a *Arena, totals map[string]TeamTotals) []TeamResult {
	teams := make([]TeamResult, 0, len(a.Teams))
	for _, t := range a.Teams {
		teams = append(teams, TeamResult{ID: t.ID, Name: t.Name, Score: totals[t.ID].Score})
	}
	rankTeams(teams)
	return teams
}

// rankTeams sorts teams by their scores and sets their ranks.
func rankTeams(teams []TeamResult) {
	slices.SortStableFunc(teams, func(a, b TeamResult) int { return cmp.Compare(b.Score, a.Score) })
	for i := range teams {
		teams[i].Rank = i + 1
		if i > 0 && teams[i].Score == teams[i-1].Score {
			teams[i].Rank = teams[i-1].Rank
		}
	}
}

// winnerID returns the id of the winner: a team in a buzzer match or race with teams,
// else a player. It returns "" if several share rank 1.
func winnerID(plan *Plan, teams []TeamResult, standings []Standing) string {
	if plan.Mode != Survival && len(teams) > 0 {
		if len(teams) == 1 || teams[1].Rank > 1 {
			return teams[0].ID
		}
		return ""
	}
	if len(standings) == 1 || len(standings) > 1 && standings[1].Rank > 1 {
		return standings[0].Player
	}
	return ""
}

const rankedPageSize = 500

// CompleteStandings reads the standings of a paged result into the result. It does
// nothing to other results. It returns ErrNotFound if the standings no longer exist
// or this node cannot read them. Its memory grows with the number of players; each
// call to the store returns at most rankedPageSize of them.
func CompleteStandings(ctx context.Context, store RankReader, result *Result) error {
	if !result.Paged {
		return nil
	}
	view, err := store.Read(ctx, ReadQuery{Match: result.Match, WantPlan: result.Rules == nil, AfterSeq: -1})
	if err != nil {
		return fmt.Errorf("match: complete %s: %w", result.Match, err)
	}
	p := view.Plan
	if p == nil { // the standings need only these fields; the stored plan may have another form
		p = &Plan{Mode: result.Mode, Rules: *result.Rules}
	}
	var seats []Seat
	view.Totals = make(map[string]Totals)
	for {
		page, err := store.RankedPlayers(ctx, result.Match, len(seats), rankedPageSize)
		if err != nil {
			return fmt.Errorf("match: complete %s: %w", result.Match, err)
		}
		for _, entry := range page {
			seats = append(seats, entry.Seat)
			view.Totals[entry.Seat.Player] = entry.Totals
		}
		if len(page) < rankedPageSize {
			break
		}
	}
	if len(seats) == 0 { // a paged result has many
		return fmt.Errorf("match: complete %s: its standings are gone: %w", result.Match, ErrNotFound)
	}
	result.Standings, result.Paged = rankedStandings(p, view, seats), false
	return nil
}
