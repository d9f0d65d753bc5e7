package stats

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Series is what was seen, span by span. It is safe for concurrent use.
type Series struct {
	every time.Duration
	began time.Time
	mu    sync.Mutex
	spans map[int]*Sum
}

// NewSeries makes a series of spans, of which the first begins now.
func NewSeries(every time.Duration) *Series {
	return &Series{every: every, began: time.Now(), spans: make(map[int]*Sum)}
}

// Span is the number of the span of an instant, from 0.
func (s *Series) Span(at time.Time) int { return max(int(at.Sub(s.began)/s.every), 0) }

// Every is how long a span is.
func (s *Series) Every() time.Duration { return s.every }

// Add adds what was seen until an instant, which is a span or less.
func (s *Series) Add(at time.Time, slice Slice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.Span(at.Add(-s.every / 2)) // its middle
	if s.spans[n] == nil {
		s.spans[n] = new(Sum)
	}
	return s.spans[n].Add(slice)
}

// Between sums up the spans from one up to another, without this.
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

// Point is a span as it is reported.
type Point struct {
	AtS    float64            `json:"at_s"` // its beginning, since that of the run
	Times  map[Kind]Quantiles `json:"times"`
	Counts map[string]int64   `json:"counts,omitempty"`
}

// Points are all spans of which something was seen.
func (s *Series) Points() (all []Point) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range slices.Sorted(maps.Keys(s.spans)) {
		all = append(all, Point{AtS: float64(n) * s.every.Seconds(), Times: s.spans[n].All(), Counts: s.spans[n].Counts})
	}
	return all
}
