package match

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// newResult returns the result of a match that ends. In a match of over FullListPlayers
// players, CompleteStandings adds the standings later.
func resultOf(p *Plan, v View, now int64) *Result {
	r := &Result{
		Match: p.ID, Game: p.Game, Mode: p.Mode, StartedAt: v.StartedAt, OverAt: now,
		Reason: cmp.Or(v.EndReason, Finished), Questions: v.closedCount(), Counts: p.Counts && v.hasClosedQuestion(),
		Firsts: v.Firsts, Paged: v.Players > FullView,
	}
	if r.StartedAt == 0 { // forfeited during the countdown
		r.StartedAt = now
	}
	if p.Arena != nil {
		r.ArenaID, r.Teams = p.Arena.ID, teamResults(p.Arena, v.Teams)
	}
	standings := ranked(p, v, p.listedSeats(v))
	r.Winner = winner(p, r.Teams, standings)
	if r.Paged {
		r.LimitMS = p.LimitMS
		return r
	}
	r.Standings = standings
	if p.Rated && v.hasClosedQuestion() {
		rate(p, r)
	}
	return r
}

// closedCount is the number of questions that closed and are not void.
func (v View) closedCount() int {
	n := v.Question + 1 - len(v.Voids)
	if v.isUnrevealed() { // it counts for nobody
		n--
	}
	return n
}

// listedSeats are the seats of a duel, or those that the view of an arena
// lists.
func (p *Plan) listedSeats(v View) []Seat {
	if p.Arena != nil {
		return v.Seats
	}
	return p.Seats
}

// ranked returns the standings of seats, best first.
func ranked(p *Plan, v View, seats []Seat) []Standing {
	all := make([]Standing, 0, len(seats))
	for _, seat := range seats {
		all = append(all, standing(p, v, seat))
	}
	isAhead := isAheadFunc(p, v.State)
	slices.SortStableFunc(all, func(a, b Standing) int {
		switch {
		case isAhead(a, b):
			return -1
		case isAhead(b, a):
			return 1
		}
		return 0
	})
	assignRanks(all, isAhead)
	return all
}

func standing(p *Plan, v View, seat Seat) Standing {
	t := v.revealedTotals(seat.Player)
	s := Standing{
		Player: seat.Player, Nickname: seat.Nickname, Team: seat.Team, Bot: seat.Bot,
		Score: t.Score, Correct: int(t.Correct), Answered: int(t.Answered), Asked: v.closedCount(), hasLeft: t.Left,
	}
	if p.Mode == Survival {
		s.Asked, s.Answered, s.survived = v.askedCount(t), v.answeredCount(t), t.LastCorrect
	}
	s.LimitMS = p.LimitMS * int64(s.Asked)
	s.TimeMS = s.LimitMS - t.SavedMS
	return s
}

// teamResults ranks the teams of an arena by their score.
func teamResults(a *Arena, totals map[string]TeamTotals) []TeamResult {
	teams := make([]TeamResult, 0, len(a.Teams))
	for _, t := range a.Teams {
		teams = append(teams, TeamResult{ID: t.ID, Name: t.Name, Score: totals[t.ID].Score})
	}
	slices.SortStableFunc(teams, func(a, b TeamResult) int { return cmp.Compare(b.Score, a.Score) })
	for i := range teams {
		teams[i].Rank = i + 1
		if i > 0 && teams[i].Score == teams[i-1].Score {
			teams[i].Rank = teams[i-1].Rank
		}
	}
	return teams
}

// winnerID returns the id of the winner: a team in a buzzer match with teams, else
// a player. It returns "" if several share rank 1.
func winner(p *Plan, teams []TeamResult, standings []Standing) string {
	if p.Mode == Buzzer && len(teams) > 0 {
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

// RankedPlayer is a player of an arena with the player's totals.
type RankedPlayer struct {
	Seat   Seat
	Totals Totals
}

// RankReader reads the players of an arena by rank, best first.
type RankReader interface {
	Read(ctx context.Context, q ReadQuery) (View, error)
	RankedPlayers(ctx context.Context, match string, from, limit int) ([]RankedPlayer, error)
}

const rankedPage = 500

// CompleteStandings reads the standings of a paged result into the result. It does
// nothing to other results. It returns ErrNotFound if the standings no longer exist
// or this node cannot read them. Its memory grows with the number of players; each
// call to the store returns at most rankedPageSize of them.
func CompleteStandings(ctx context.Context, store RankReader, r *Result) error {
	if !r.Paged {
		return nil
	}
	v, err := store.Read(ctx, ReadQuery{Match: r.Match, WantPlan: r.LimitMS == 0, After: -1})
	if err != nil {
		return fmt.Errorf("match: complete %s: %w", r.Match, err)
	}
	p := v.Plan
	if p == nil { // the standings need only these fields; the stored plan may have another form
		p = &Plan{Mode: r.Mode, LimitMS: r.LimitMS}
	}
	var seats []Seat
	v.Totals = make(map[string]Totals)
	for {
		page, err := store.RankedPlayers(ctx, r.Match, len(seats), rankedPage)
		if err != nil {
			return fmt.Errorf("match: complete %s: %w", r.Match, err)
		}
		for _, entry := range page {
			seats = append(seats, entry.Seat)
			v.Totals[entry.Seat.Player] = entry.Totals
		}
		if len(page) < rankedPage {
			break
		}
	}
	if len(seats) == 0 { // a paged result has many
		return fmt.Errorf("match: complete %s: its standings are gone: %w", r.Match, ErrNotFound)
	}
	r.Standings, r.Paged, r.LimitMS = ranked(p, v, seats), false, 0
	return nil
}
