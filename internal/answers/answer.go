package answers

import (
	"errors"
	"slices"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// BlockPlayers is how many players share a block. The player with standing i is in block
// i / BlockPlayers. It is part of the stored form and must never change.
const BlockPlayers = 100

// Answer is an accepted answer of a settled match.
type Answer struct {
	Player    int             // index of the player's standing in the match
	Question  int             // from 0
	Given     *protocol.Given // nil if the player was erased
	Correct   bool
	Retracted bool // it does not count
	ElapsedMS int64
	Points    int64
	ArrivedAt int64 // the stamp that decided whether it was in time: cluster time, epoch ms
}

// Block is the answers of some players of a match. The first block of a match also has the
// questions that were revealed.
type Block struct {
	Game, Match string
	OverAt      int64 // end of the match, cluster time, epoch ms
	Index       int   // from 0
	Questions   []quiz.DrawnQuestion
	Answers     []Answer
}

// PlayerAnswers is a player's standing and answers, in the order of questions.
type PlayerAnswers struct {
	Standing protocol.OverStanding
	Answers  []Answer
}

// Seats says how the ledger knows the players of a settled match.
type Seats struct {
	OverAt  int64
	Indexes map[string]int // index of a player's standing, by the id in the match store
	Erased  map[int]bool   // indexes of players who have been erased
}

// Match is a settled match and its questions that were revealed, as the match asked them.
type Match struct {
	Summary   match.Summary
	Questions []quiz.DrawnQuestion
}

// Void says which question of a settled match must not count, why, and who decided so.
type Void struct {
	Game, Match string
	Question    int // from 0
	Reason      string
	By          string        // the operator or service; "": the host of the arena
	MaxAge      time.Duration // how long ago the match may have ended; 0: any time
}

var (
	// ErrOnTheWay means that the answers of a match may still reach the ledger.
	ErrOnTheWay = errors.New("answers: not stored yet")
	// ErrNotStored means that the answers of a match were deleted, lost before they reached
	// the ledger, or are malformed there.
	ErrNotStored = errors.New("answers: not stored")
	// ErrNoQuestion means that a match has revealed no question with a number.
	ErrNoQuestion = errors.New("answers: the match has revealed no such question")
	// ErrNotRecountable means that a match cannot be counted again without a question. A question
	// of a survival match has decided who plays on, and an earlier version of the server has
	// not stored the rules of its matches.
	ErrNotRecountable = errors.New("answers: a survival match, or a match that an earlier version of the server has stored, cannot be counted again")
	// ErrTooOld means that a match has ended too long ago to be counted again.
	ErrTooOld = errors.New("answers: the match has ended too long ago")
	// ErrNotPlayer means that a player has no standing in a match.
	ErrNotPlayer = errors.New("answers: not a player of the match")
)

// Sums is what the answers of a player are worth.
type Sums struct {
	Score             int64
	Correct, Answered int
	TimeMS            int64 // see match.Standing
}

// Recount computes again what the answers of a player in a settled match are worth, as if the
// match had never asked its void questions. Its argument own has all answers of the player, in
// the order of questions. Recount sets their points, and marks those to void questions as retracted.
// The match must have rules, and must not be a survival match.
func Recount(m *match.Summary, own []Answer) Sums {
	sums, running := Sums{TimeMS: m.LimitMS()}, quiz.PlayerScore{}
	lastRight := -1 // last question that was answered right
	for i := range own {
		a := &own[i]
		a.Retracted = a.Retracted || slices.Contains(m.Voided, a.Question)
		if a.Retracted {
			continue
		}
		limit, multiplier := m.Rules.Limit(a.Question), m.Rules.Multiplier(a.Question)
		base := m.Rules.Scoring.BaseAgain(a.Points, a.Correct, quiz.Answered{ElapsedMS: a.ElapsedMS, LimitMS: limit, Multiplier: multiplier})
		running, a.Points = m.Rules.Scoring.Add(running, base, a.Correct, lastRight == questionBefore(a.Question, m.Voided), multiplier)
		sums.Answered++
		if a.Correct {
			lastRight = a.Question
			sums.Correct++
			sums.TimeMS -= max(limit-a.ElapsedMS, 0)
		}
	}
	sums.Score = running.Score
	return sums
}

// questionBefore returns the last question before another that counts, -1 if there is none.
func questionBefore(question int, voided []int) int {
	for question--; slices.Contains(voided, question); question-- { //nolint:revive // the loop only counts
	}
	return question
}
