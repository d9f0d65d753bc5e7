package match

import (
	"sort"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// foundView is the match as it is announced.
func foundView(p *Plan) protocol.MatchFound {
	f := protocol.MatchFound{
		Mode: string(p.Mode), Questions: len(p.Questions), Players: len(p.Seats), StartsAt: p.StartsAt,
	}
	for _, s := range p.Seats {
		seat := protocol.SeatView{ID: s.Player, Nickname: s.Nickname, Team: s.Team, Bot: s.Bot}
		if s.Rating != nil {
			r := s.Rating.Shown()
			seat.Rating = &r
		}
		f.Seats = append(f.Seats, seat)
	}
	return f
}

// questionView is the current question as asked: nothing of its answer.
func questionView(p *Plan, s State) protocol.Question {
	q := p.Questions[s.Question]
	return protocol.Question{
		Question: s.Question, Of: len(p.Questions), Kind: string(q.Kind), Text: q.Text, Choices: q.Choices,
		Category: q.Category, Difficulty: string(q.Difficulty), Lang: q.Lang, Media: q.Media,
		OpensAt: s.OpensAt, ClosesAt: s.ClosesAt, MaxPoints: quiz.FullPoints,
	}
}

// closedView reveals the question that the view stands at.
func closedView(p *Plan, v View) protocol.QuestionClosed {
	q := &p.Questions[v.Question]
	c := protocol.QuestionClosed{
		Question: v.Question, Reason: v.Reason, Answer: q.Solution(), Explanation: q.Explanation,
		Answered: v.Answered, Right: v.Right,
	}
	for _, s := range p.Seats {
		r := protocol.QuestionResult{Player: s.Player, Nickname: s.Nickname, Score: v.Totals[s.Player].Score}
		if rec, ok := v.Records[s.Player]; ok {
			r.Given, r.Correct, r.ElapsedMS, r.Points = rec.Given, rec.Correct, &rec.ElapsedMS, rec.Points
		}
		c.Results = append(c.Results, r)
	}
	return c
}

// overView is a result as its players see it.
func overView(r *Result) protocol.MatchOver {
	over := protocol.MatchOver{Reason: string(r.Reason), Winner: r.Winner}
	for _, s := range r.Standings {
		over.Standings = append(over.Standings, s.View())
	}
	return over
}

// View is a standing as players see it.
func (s Standing) View() protocol.OverStanding {
	v := protocol.OverStanding{
		Rank: s.Rank, Player: s.Player, Nickname: s.Nickname, Team: s.Team, Score: s.Score,
		Correct: s.Correct, Answered: s.Answered, Asked: s.Asked, TimeMS: s.TimeMS,
	}
	if s.Rating != nil {
		after := s.Rating.After.Shown()
		delta := after - s.Rating.Before.Shown()
		v.Rating, v.RatingDelta = &after, &delta
	}
	return v
}

// stateView is where the match stands, for one of its players: the scores are
// those of the last reveal, so that no score betrays an open answer.
func stateView(p *Plan, v View, player string) protocol.MatchState {
	s := protocol.MatchState{Seq: v.Seq, Phase: shownPhase(v.Phase), Found: foundView(p)}
	if v.Phase == Open || v.Phase == Sealed || v.Phase == Revealed {
		q := questionView(p, v.State)
		s.Question = &q
		if r, ok := v.Records[player]; ok {
			s.YourAnswer = accepted(r)
		}
	}
	totals := v.revealed()
	for _, seat := range p.Seats {
		s.Scores = append(s.Scores, protocol.ScoreView{
			Player: seat.Player, Nickname: seat.Nickname, Score: totals[seat.Player].Score,
		})
	}
	sort.SliceStable(s.Scores, func(i, j int) bool { return s.Scores[i].Score > s.Scores[j].Score })
	s.Own.Score = totals[player].Score
	s.Own.Rank = 1
	for _, other := range s.Scores {
		if other.Score > s.Own.Score {
			s.Own.Rank++
		}
	}
	return s
}

func accepted(r Record) *protocol.AcceptedAnswer {
	return &protocol.AcceptedAnswer{Question: r.Question, Given: r.Given, At: r.At, ElapsedMS: r.ElapsedMS}
}

func shownPhase(p Phase) string {
	switch p {
	case Sealed:
		return string(Open)
	case Settled:
		return string(Over)
	}
	return string(p)
}
