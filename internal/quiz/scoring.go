package quiz

import (
	"slices"
	"strconv"
	"strings"

	"laststand/internal/protocol"
)

// The presets of the wire contract say whether the speed of an answer counts.
const (
	Speed    = "speed"    // a right answer scores Points, and up to as many again for its speed
	Accuracy = "accuracy" // a right answer scores Points at any time
)

// Scoring says how many points an answer scores. All arithmetic is with integers, and
// divisions round down. A score never falls below 0. A question's multiplier multiplies all
// of it.
type Scoring protocol.Scoring

// The scoring of matches whose host does not choose it.
var (
	DefaultScoring = Scoring{Preset: Speed, Points: 100}
	BuzzerScoring  = Scoring{Preset: Accuracy, Points: 100} // only the first right answer scores
)

// maxStreak is the number of earlier right answers in a row that add to a score.
const maxStreak = 5

// Answered is one answer as its points depend on it. The times are in ms. LimitMS must
// be above 0; an ElapsedMS below 0 counts as 0, and one above the limit as the limit.
type Answered struct {
	Normalized         string // see DrawnQuestion.IsCorrect
	ElapsedMS, LimitMS int64
	Multiplier         int64 // of the question, from 0
}

// Base returns the points of an answer without streak: below 0 for a penalty. It also
// reports whether the answer is right. A partly right answer is not.
//
// Example: Points 100 by Speed and an answer after 2500 of 10,000 ms score
// 100 + ⌊100·7500/10000⌋ = 175.
func (s Scoring) Base(question DrawnQuestion, answer Answered) (points int64, isCorrect bool) {
	full := s.full(answer)
	isCorrect = question.IsCorrect(answer.Normalized)
	switch {
	case isCorrect:
		points = full
	case s.Partial && question.Kind == Multiple:
		points = question.partOf(full, answer.Normalized)
	}
	if points == 0 && !isCorrect {
		points = -s.Penalty
	}
	return points * answer.Multiplier, isCorrect
}

// full returns the points of a right answer without streak and multiplier.
func (s Scoring) full(answer Answered) int64 {
	if s.Preset != Speed {
		return s.Points
	}
	elapsed := min(max(answer.ElapsedMS, 0), answer.LimitMS)
	return s.Points + s.Points*(answer.LimitMS-elapsed)/answer.LimitMS
}

// BaseAgain returns what Base has returned for an answer that has scored some points. It needs
// neither the question nor the normalized answer.
func (s Scoring) BaseAgain(scored int64, isCorrect bool, answer Answered) int64 {
	switch {
	case isCorrect:
		return s.full(answer) * answer.Multiplier
	case scored > 0: // a share: neither a streak nor the floor of the score has changed it
		return scored
	}
	return -s.Penalty * answer.Multiplier
}

// MaxPoints returns the most points that an answer can score.
func (s Scoring) MaxPoints(multiplier int64) int64 {
	points := s.Points + maxStreak*s.Streak
	if s.Preset == Speed {
		points += s.Points
	}
	return points * multiplier
}

// PlayerScore is a player's score, and how many answers in a row were right up to the last one.
type PlayerScore struct{ Score, Streak int64 }

// Add adds the points of an answer to a score. It returns the new score and what the answer
// scored. base and isCorrect are from Base. hasStreak is true if the player's answer to the
// question before was right.
func (s Scoring) Add(t PlayerScore, base int64, isCorrect, hasStreak bool, multiplier int64) (_ PlayerScore, points int64) {
	points = base
	switch {
	case !isCorrect:
		t.Streak = 0
	case hasStreak:
		t.Streak++
	default:
		t.Streak = 1
	}
	if isCorrect {
		points += s.Streak * min(t.Streak-1, maxStreak) * multiplier
	}
	points = max(points, -t.Score)
	t.Score += points
	return t, points
}

// partOf returns the share of points for an answer to a Multiple question: right choices
// minus wrong ones, of all right ones. It is 0 for other kinds and invalid answers.
func (d DrawnQuestion) partOf(points int64, normalized string) int64 {
	list, found := strings.CutPrefix(normalized, "m:")
	right := d.RightIndexes()
	if !found || len(right) == 0 {
		return 0
	}
	net := int64(0)
	for text := range strings.SplitSeq(list, ",") {
		choice, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return 0
		case slices.Contains(right, choice):
			net++
		default:
			net--
		}
	}
	return points * max(net, 0) / int64(len(right))
}
