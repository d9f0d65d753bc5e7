package stats

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Series is the recorded data, span by span. It is safe for concurrent use.
type Series struct {
	every time.Duration
	began time.Time
	mu    sync.Mutex
	spans map[int]*Sum
}

// NewSeries makes a series of spans. The first span starts now.
func NewSeries(every time.Duration) *Series {
	return &Series{every: every, began: time.Now(), spans: make(map[int]*Sum)}
}

// Span returns the number of the span at a time, from 0.
func (s *Series) Span(at time.Time) int { return max(int(at.Sub(s.began)/s.every), 0) }

// Every returns the length of a span.
func (s *Series) Every() time.Duration { return s.every }

// Add adds a slice that ends at a time and covers at most one span.
func (s *Series) Add(at time.Time, slice Slice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.Span(at.Add(-s.every / 2)) // the middle of the slice
	if s.spans[n] == nil {
		s.spans[n] = new(Sum)
	}
	return s.spans[n].Add(slice)
}

// Between sums up the spans from one number up to another, which is excluded.
func (s *Series) Between(from, to int) (all Sum) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, slice := range s.spans {
		if n >= from && n < to {
			all.Merge(*slice)
		}
	}
	return all
}

// Point is one span of a report.
type Point struct {
	AtS    float64            `json:"at_s"` // start of the span, since the start of the run
	Times  map[Kind]Quantiles `json:"times"`
	Counts map[string]int64   `json:"counts,omitempty"`
}

// Points returns all spans that have data.
func (s *Series) Points() (all []Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(s.spans)) {
		all = append(all, Point{AtS: float64(n) * s.every.Seconds(), Times: s.spans[n].All(), Counts: s.spans[n].Counts})
	}
	return all
}
