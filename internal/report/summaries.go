package report

import (
	"context"
	"fmt"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"laststand/internal/answers"
)

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
	questions []Question
	until     time.Time
}

// NewSummaries returns an empty cache.
func NewSummaries() *Summaries {
	recent, _ := lru.New[string, recentSummary](maxSummaries) // fails only for a size of 0
	return &Summaries{recent}
}

// Questions returns how the questions of a match went. Callers must not change it. A match
// with one more void question is another match for the cache.
func (s *Summaries) Questions(ctx context.Context, source Source, m answers.Match) ([]Question, error) {
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
