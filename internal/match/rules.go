package match

import (
	"sort"

	"laststand/internal/quiz"
	"laststand/internal/rating"
)

// judge says what an answer is worth: pure, by the stamp on its frame.
func judge(p *Plan, s State, j judged, sub Submission) Record {
	elapsed := max(sub.At-s.OpensAt, 0)
	r := Record{
		Player: sub.Player, Question: j.question, Given: j.given, Normal: j.normal, At: sub.At, ElapsedMS: elapsed,
	}
	if p.Questions[j.question].Correct(j.normal) {
		r.Correct = true
		r.Points = int64(quiz.Points(p.LimitMS, elapsed))
		r.SavedMS = max(p.LimitMS-elapsed, 0)
	}
	return r
}

// duelResult is the outcome of a duel by the totals of its players: the
// higher score wins, then less time, else a draw; a leaver loses.
func duelResult(p *Plan, s State, totals map[string]Totals, asked int, overAt int64) *Result {
	r := &Result{
		Match: p.ID, Game: p.Game, Mode: p.Mode, StartedAt: s.StartedAt, OverAt: overAt,
		Reason: Finished, Questions: asked, Counts: p.Counts,
	}
	if s.Ending != "" {
		r.Reason = s.Ending
	}
	if s.StartedAt == 0 { // left during the countdown
		r.StartedAt = overAt
	}
	for _, seat := range p.Seats {
		r.Standings = append(r.Standings, standing(p, seat, totals[seat.Player], asked))
	}
	before := func(a, b Standing) bool {
		if s.Leaver != "" {
			return b.Player == s.Leaver && a.Player != s.Leaver
		}
		return a.Score > b.Score || a.Score == b.Score && a.TimeMS < b.TimeMS
	}
	sort.SliceStable(r.Standings, func(i, j int) bool { return before(r.Standings[i], r.Standings[j]) })
	rank(r.Standings, before)
	if len(r.Standings) > 1 && r.Standings[1].Rank > 1 {
		r.Winner = r.Standings[0].Player
	}
	if p.Rated {
		rate(p, r)
	}
	return r
}

func standing(p *Plan, seat Seat, t Totals, asked int) Standing {
	limit := p.LimitMS * int64(asked)
	return Standing{
		Player: seat.Player, Nickname: seat.Nickname, Team: seat.Team, Bot: seat.Bot,
		Score: t.Score, Correct: int(t.Correct), Answered: int(t.Answered), Asked: asked,
		TimeMS: limit - t.SavedMS, LimitMS: limit,
	}
}

// rank numbers sorted standings from 1; equals share a rank.
func rank(sorted []Standing, before func(a, b Standing) bool) {
	for i := range sorted {
		sorted[i].Rank = i + 1
		if i > 0 && !before(sorted[i-1], sorted[i]) {
			sorted[i].Rank = sorted[i-1].Rank
		}
	}
}

// rate gives both players of a duel their rating after it: a rating period
// of one game.
func rate(p *Plan, r *Result) {
	if len(p.Seats) != 2 || p.Seats[0].Rating == nil || p.Seats[1].Rating == nil {
		return
	}
	for i := range r.Standings {
		own := &r.Standings[i]
		other := r.Standings[1-i]
		mine, _ := p.Seat(own.Player)
		theirs, _ := p.Seat(other.Player)
		score := 0.5
		if own.Rank != other.Rank {
			score = float64(other.Rank - own.Rank) // 1 for the winner, -1 for the loser
			score = (score + 1) / 2
		}
		after := rating.Update(*mine.Rating, []rating.Game{{Opponent: *theirs.Rating, Score: score}})
		own.Rating = &RatingChange{Before: *mine.Rating, After: after}
	}
}
