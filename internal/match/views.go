package match

import (
	"cmp"
	"encoding/json"
	"slices"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// foundView is the announcement of a match. In a large match it lists no
// players.
func foundView(p *Plan, v View) protocol.MatchFound {
	f := protocol.MatchFound{
		Mode: string(p.Mode), Questions: len(p.Questions), Players: len(p.Seats), StartsAt: p.StartsAt,
	}
	if p.Arena != nil {
		f.ArenaID, f.Players, f.StartsAt = p.Arena.ID, int(v.Players), v.StartsAt
		for _, t := range p.Arena.Teams {
			f.Teams = append(f.Teams, protocol.ArenaTeam(t))
		}
	}
	if f.Players <= FullView {
		f.Seats = seatViews(p, v)
	}
	return f
}

// seatViews lists the seats of a duel in order, and those of an arena by player
// id, so that the order never changes.
func seatViews(p *Plan, v View) []protocol.SeatView {
	seats := slices.Clone(p.listedSeats(v))
	if p.Arena != nil {
		slices.SortFunc(seats, func(a, b Seat) int { return cmp.Compare(a.Player, b.Player) })
	}
	views := make([]protocol.SeatView, 0, len(seats))
	for _, s := range seats {
		view := protocol.SeatView{ID: s.Player, Nickname: s.Nickname, Team: s.Team, Bot: s.Bot}
		if s.Rating != nil {
			r := s.Rating.Rounded()
			view.Rating = &r
		}
		views = append(views, view)
	}
	return views
}

// questionView is the current question without anything about its answer.
func questionView(p *Plan, s State) protocol.Question {
	q := p.Questions[s.Question]
	points := quiz.FullPoints
	if p.Mode == Buzzer {
		points = quiz.FirstPoints
	}
	return protocol.Question{
		Question: s.Question, Of: len(p.Questions), Kind: string(q.Kind), Text: q.Text, Choices: q.Choices(),
		Category: q.Category, Difficulty: string(q.Difficulty), Lang: q.Lang, Media: q.Media,
		OpensAt: s.OpensAt, ClosesAt: s.ClosesAt, MaxPoints: points,
	}
}

// closedView reveals the current question, which accepts no more answers. In a
// large match it lists the best players.
func closedView(p *Plan, v View) protocol.QuestionClosed {
	q := p.Questions[v.Question]
	c := protocol.QuestionClosed{
		Question: v.Question, Reason: v.CloseReason, Answer: q.Solution(), Explanation: q.Explanation,
		Answered: v.Answered, Right: v.Right, Void: p.Mode == Survival && v.isVoid(),
		Results: []protocol.QuestionResult{},
	}
	if f := v.First; f != nil && f.Question == v.Question {
		c.First = &protocol.First{Player: f.Player, Nickname: f.Nickname, Team: f.Team, ElapsedMS: f.ElapsedMS}
	}
	for _, s := range p.listedSeats(v) {
		if t := v.Totals[s.Player]; p.Mode == Survival && (t.Left || v.isEliminated(t)) {
			continue
		}
		r := protocol.QuestionResult{Player: s.Player, Nickname: s.Nickname, Score: v.Totals[s.Player].Score}
		if rec, ok := v.Records[s.Player]; ok {
			r.Given, r.Correct, r.ElapsedMS, r.Points = rec.Given, rec.Correct, &rec.ElapsedMS, rec.Points
		}
		r.Out = p.Mode == Survival && !r.Correct && !c.Void
		c.Results = append(c.Results, r)
	}
	return c
}

// personalView is the effect of a question on one player of a large match. It must
// be computed after the reveal.
func personalView(p *Plan, v View, player string) protocol.Own {
	t := v.Totals[player]
	o := protocol.Own{
		Match: p.ID, Question: v.Question, Score: t.Score, Rank: v.Ranks[player], Out: p.Mode == Survival && v.isEliminated(t),
	}
	if r, ok := v.Records[player]; ok {
		o.Given, o.Correct, o.ElapsedMS, o.Points = r.Given, r.Correct, &r.ElapsedMS, r.Points
	}
	return o
}

// overView is the end of a match for its players: all standings up to FullListPlayers
// players, else the best.
func overView(p *Plan, v View, r *Result) protocol.MatchOver {
	over := protocol.MatchOver{Reason: string(r.Reason), Winner: r.Winner, Standings: []protocol.OverStanding{}}
	for _, t := range r.Teams {
		over.Teams = append(over.Teams, protocol.TeamStanding{Rank: t.Rank, ID: t.ID, Score: t.Score})
	}
	standings := r.Standings
	if r.Paged {
		standings = ranked(p, v, v.Seats)
	}
	for _, s := range standings {
		over.Standings = append(over.Standings, s.View())
	}
	return over
}

// View returns a standing as players see it.
func (s Standing) View() protocol.OverStanding {
	v := protocol.OverStanding{
		Rank: s.Rank, Player: s.Player, Nickname: s.Nickname, Team: s.Team, Score: s.Score,
		Correct: s.Correct, Answered: s.Answered, Asked: s.Asked, TimeMS: s.TimeMS,
	}
	if s.Rating != nil {
		after := s.Rating.After.Rounded()
		delta := after - s.Rating.Before.Rounded()
		v.Rating, v.RatingDelta = &after, &delta
	}
	return v
}

// stateView is the current state of a match for one of its players or watchers.
// Scores are those of the last reveal, so they disclose no open answer.
func stateView(p *Plan, v View, player string) protocol.MatchState {
	s := protocol.MatchState{Seq: v.Seq, Phase: shownPhase(v.Phase), Found: foundView(p, v)}
	if v.Phase == Open || v.Phase == Sealed || v.Phase == Revealed {
		q := questionView(p, v.State)
		s.Question = &q
		if r, ok := v.Records[player]; ok {
			s.YourAnswer = acceptedAnswer(r)
		}
	}
	s.Scores = scores(p, v)
	if v.Players > FullView {
		s.Scores = decodeScores(v.Scores)
	}
	if t, seated := v.Totals[player]; seated {
		s.Out = p.Mode == Survival && v.isEliminated(t)
		s.Own = protocol.OwnScore{Score: v.revealedTotals(player).Score, Rank: revealedRank(v, player, s.Scores)}
	}
	return s
}

// revealedRank is a player's rank at the last reveal. In a large match it is 0
// while a question is unrevealed.
func revealedRank(v View, player string, shown []protocol.ScoreView) int {
	if v.Players > FullView {
		if v.isUnrevealed() {
			return 0
		}
		return int(v.Ranks[player])
	}
	rank := 1
	for _, other := range shown {
		if other.Score > v.revealedTotals(player).Score {
			rank++
		}
	}
	return rank
}

// revealedScores returns the scores of the last reveal, highest first, then by player id. The
// store's order of an arena's seats cannot be used, because open answers have
// already changed it.
func scores(p *Plan, v View) []protocol.ScoreView {
	all := make([]protocol.ScoreView, 0, len(p.listedSeats(v)))
	for _, s := range p.listedSeats(v) {
		all = append(all, protocol.ScoreView{Player: s.Player, Nickname: s.Nickname, Score: v.revealedTotals(s.Player).Score})
	}
	slices.SortFunc(all, func(a, b protocol.ScoreView) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Player, b.Player))
	})
	return all
}

// encodeScores encodes the scores of a reveal in a large match.
func encodeScores(p *Plan, v View) []byte {
	v.Phase = Revealed
	raw, _ := json.Marshal(scores(p, v)) // plain texts and numbers always encode
	return raw
}

func decodeScores(raw []byte) []protocol.ScoreView {
	all := []protocol.ScoreView{}
	_ = json.Unmarshal(raw, &all) // written by encodeScores, or nothing yet
	return all
}

func acceptedAnswer(r Record) *protocol.AcceptedAnswer {
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
