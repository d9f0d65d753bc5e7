package answers

import (
	"context"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// ReportSource reads the answers of a settled match. *ledger.Answers implements it.
type ReportSource interface {
	// EachBlock calls onBlock with the answers of each block of a match.
	EachBlock(ctx context.Context, m Match, onBlock func([]Answer)) error
	// EachPlayer calls onPlayer with the standings whose index is at least from and less
	// than to, and their answers, best first. It stops at the first error of onPlayer and
	// returns it.
	EachPlayer(ctx context.Context, m Match, from, to int, onPlayer func(PlayerAnswers) error) error
}

// Report is the report of an arena. Players are those of a page.
type Report struct {
	ArenaID    string           `json:"arena_id"`
	Match      string           `json:"match"`
	Name       string           `json:"name"` // "" if the host was erased
	Mode       match.Mode       `json:"mode"`
	StartedAt  int64            `json:"started_at"`
	OverAt     int64            `json:"over_at"`
	Questions  []ReportQuestion `json:"questions"`
	Players    []ReportPlayer   `json:"players"`
	NextCursor string           `json:"next_cursor,omitempty"`
}

// ReportPlayer is the standing and the answers of a player, one for each question. Nickname is ""
// if the player was erased.
type ReportPlayer struct {
	Player   string         `json:"player"`
	Nickname string         `json:"nickname"`
	Team     string         `json:"team,omitempty"`
	Rank     int            `json:"rank"`
	Score    int64          `json:"score"`
	Correct  int            `json:"correct"`
	TimeMS   int64          `json:"time_ms"`
	Answers  []ReportAnswer `json:"answers"`
}

// ReportAnswer is what a player answered to a question. Given is nil without an answer that
// counts, and for an erased player.
type ReportAnswer struct {
	Question  int             `json:"question"`
	Given     *protocol.Given `json:"given"`
	Correct   bool            `json:"correct"`
	ElapsedMS *int64          `json:"elapsed_ms"` // nil: no answer
	Points    int64           `json:"points"`
}

// NewReport returns the report of an arena without players. The questions are those of
// Summaries.Questions.
func NewReport(record arena.Record, m Match, questions []ReportQuestion) Report {
	return Report{
		ArenaID: record.ArenaID(), Match: m.Summary.Match, Name: record.Name, Mode: m.Summary.Mode,
		StartedAt: m.Summary.StartedAt, OverAt: m.Summary.OverAt, Questions: questions, Players: []ReportPlayer{},
	}
}

// AddPlayers adds the players whose standings have the indexes from to to-1.
func (r *Report) AddPlayers(ctx context.Context, source ReportSource, m Match, from, to int) error {
	return source.EachPlayer(ctx, m, from, to, func(p PlayerAnswers) error {
		r.Players = append(r.Players, newPlayer(m.Questions, p))
		return nil
	})
}

// newPlayer returns a player with an answer for each question.
func newPlayer(questions []quiz.DrawnQuestion, p PlayerAnswers) ReportPlayer {
	s := p.Standing
	return ReportPlayer{
		Player: s.Player, Nickname: s.Nickname, Team: s.Team, Rank: s.Rank, Score: s.Score, Correct: s.Correct, TimeMS: s.TimeMS,
		Answers: NewReportAnswers(questions, p.Answers),
	}
}

// NewReportAnswers returns an answer for each question: those of a player that count.
func NewReportAnswers(questions []quiz.DrawnQuestion, given []Answer) []ReportAnswer {
	all := make([]ReportAnswer, len(questions))
	for i := range all {
		all[i].Question = i
	}
	for _, a := range given {
		if !counts(a, questions) {
			continue
		}
		shown := &all[a.Question]
		shown.Given, shown.Correct, shown.ElapsedMS, shown.Points = a.Given, a.Correct, &a.ElapsedMS, a.Points
	}
	return all
}

// counts reports whether an answer counts: it was not retracted, and its question was
// revealed.
func counts(a Answer, questions []quiz.DrawnQuestion) bool {
	return !a.Retracted && a.Question < len(questions)
}
