package answers

import (
	"context"
	"fmt"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// ReportQuestion is how a revealed question went. The numbers of a void question are 0.
type ReportQuestion struct {
	Question int           `json:"question"`
	ID       string        `json:"id"`
	Kind     quiz.Kind     `json:"kind"`
	Text     string        `json:"text"`
	Choices  []string      `json:"choices,omitempty"`
	Answer   quiz.Solution `json:"answer"`
	Void     bool          `json:"void,omitempty"`
	Answered int64         `json:"answered"`         // answers that count
	Right    int64         `json:"right"`            // those of them that are right
	Facility float64       `json:"facility"`         // right/answered, rounded half up to 4 decimals
	MeanMS   int64         `json:"mean_ms"`          // mean time of the answers, rounded half up
	Counts   []int64       `json:"counts,omitempty"` // answers by choice, without those of erased players
}

// questionTotals are the sums of the answers to a question that count.
type questionTotals struct {
	answered, right, elapsedMS int64
	byChoice                   []int64 // nil for a kind without choices
}

// summarize reads all answers of a match and returns how its questions went.
func summarize(ctx context.Context, source ReportSource, m Match) ([]ReportQuestion, error) {
	totals := make([]questionTotals, len(m.Questions))
	for i, q := range m.Questions {
		if choices := q.Choices(); len(choices) > 0 {
			totals[i].byChoice = make([]int64, len(choices))
		}
	}
	err := source.EachBlock(ctx, m, func(block []Answer) {
		for _, a := range block {
			if counts(a, m.Questions) {
				totals[a.Question].add(a)
			}
		}
	})
	questions := make([]ReportQuestion, len(m.Questions))
	for i, q := range m.Questions {
		questions[i] = newQuestion(i, q, totals[i], m.Summary)
	}
	return questions, err
}

func (t *questionTotals) add(a Answer) {
	t.answered++
	t.elapsedMS += a.ElapsedMS
	if a.Correct {
		t.right++
	}
	for _, choice := range choicesOf(a.Given) {
		if choice < len(t.byChoice) {
			t.byChoice[choice]++
		}
	}
}

func newQuestion(index int, q quiz.DrawnQuestion, t questionTotals, m match.Summary) ReportQuestion {
	question := ReportQuestion{
		Question: index, ID: q.ID, Kind: q.Kind, Text: q.Text, Choices: q.Choices(), Answer: q.Solution(),
		Void: m.Mode == match.Survival && t.right == 0 || slices.Contains(m.Voided, index),
	}
	if question.Void {
		t = questionTotals{byChoice: make([]int64, len(t.byChoice))}
	}
	question.Answered, question.Right, question.Counts = t.answered, t.right, t.byChoice
	question.Facility = float64(divideRounded(10_000*t.right, t.answered)) / 10_000
	question.MeanMS = divideRounded(t.elapsedMS, t.answered)
	return question
}

// divideRounded returns a/b rounded half up, and 0 if b is 0. Neither may be negative.
func divideRounded(a, b int64) int64 {
	if b == 0 {
		return 0
	}
	return (2*a + b) / (2 * b)
}

// choicesOf returns the choices of a given answer; none of a number, a text, or nil.
func choicesOf(given *protocol.Given) []int {
	switch {
	case given == nil:
		return nil
	case given.Choice != nil:
		return []int{*given.Choice}
	}
	return given.Choices
}

const (
	maxSummaries   = 64
	summaryMaxTime = time.Minute // so that the answers of erased players leave the counts
)

// Summaries remembers for a short time how the questions of matches went, because each page of
// a report needs that and it takes all answers of the match. It is safe for concurrent use.
type Summaries struct {
	recent *lru.Cache[string, recentSummary]
}

// recentSummary is what was computed until a time.
type recentSummary struct {
	questions []ReportQuestion
	until     time.Time
}

// NewSummaries returns an empty cache.
func NewSummaries() *Summaries {
	recent, _ := lru.New[string, recentSummary](maxSummaries) // fails only for a size of 0
	return &Summaries{recent}
}

// Questions returns how the questions of a match went. Callers must not change it. A match
// with one more void question is another match for the cache.
func (s *Summaries) Questions(ctx context.Context, source ReportSource, m Match) ([]ReportQuestion, error) {
	key := fmt.Sprint(m.Summary.Game, " ", m.Summary.Match, " ", m.Summary.Voided) // neither has a space
	if found, ok := s.recent.Get(key); ok && time.Now().Before(found.until) {
		return found.questions, nil
	}
	questions, err := summarize(ctx, source, m)
	if err == nil {
		s.recent.Add(key, recentSummary{questions, time.Now().Add(summaryMaxTime)})
	}
	return questions, err
}
