// Package stats records durations and faults in many processes at once, and merges them
// over time.
package stats

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Kind is what a duration measures.
type Kind string

// The kinds.
const (
	Connect   Kind = "connect"   // from dialling to welcome
	Answer    Kind = "answer"    // from an answer to answered
	Found     Kind = "found"     // from duel.join to match.found
	Question  Kind = "question"  // from opens_at until a player has the question
	Settled   Kind = "settled"   // from match.over to settled: in the ledger and on the leaderboards
	Board     Kind = "board"     // a request for a leaderboard over HTTP
	Behaviour Kind = "behaviour" // a request that posts behaviours
)

// Kinds lists all kinds, in display order.
var Kinds = []Kind{Connect, Answer, Found, Question, Settled, Board, Behaviour}

// MaxTime bounds durations; longer ones count as MaxTime.
const MaxTime = time.Minute

// New makes a histogram in µs, accurate to 1 percent.
func New() *hdrhistogram.Histogram { return hdrhistogram.New(1, MaxTime.Microseconds(), 2) }

// Recorder records what one process sees. It is safe for concurrent use. The zero value is
// ready.
type Recorder struct {
	mu     sync.Mutex
	times  map[Kind]*hdrhistogram.Histogram
	counts map[string]int64
}

// Add adds a duration.
func (t *Recorder) Add(k Kind, took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.times[k]
	if h == nil {
		if t.times == nil {
			t.times = make(map[Kind]*hdrhistogram.Histogram)
		}
		h = New()
		t.times[k] = h
	}
	_ = h.RecordValue(min(max(took, time.Microsecond), MaxTime).Microseconds()) // the value is in range
}

// Count adds n to the count of a name, such as `answer question_closed`.
func (t *Recorder) Count(name string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[string]int64)
	}
	t.counts[name] += n
}

// Slice is what one process recorded in a span of time.
type Slice struct {
	Times  map[Kind]string  `json:"times,omitempty"` // encoded histograms
	Counts map[string]int64 `json:"counts,omitempty"`
}

// Take returns what was recorded since the last call.
func (t *Recorder) Take() (s Slice, err error) {
	t.mu.Lock()
	times, counts := t.times, t.counts
	t.times, t.counts = nil, nil
	t.mu.Unlock()
	s = Slice{Times: make(map[Kind]string, len(times)), Counts: counts}
	for k, h := range times {
		raw, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			return s, fmt.Errorf("tally: %s: %w", k, err)
		}
		s.Times[k] = string(raw)
	}
	return s, nil
}

// Sum is what all processes recorded in a span of time.
type Sum struct {
	Times  map[Kind]*hdrhistogram.Histogram
	Counts map[string]int64
}

// Add adds a slice.
func (s *Sum) Add(slice Slice) error {
	other := Sum{Times: make(map[Kind]*hdrhistogram.Histogram, len(slice.Times)), Counts: slice.Counts}
	for k, raw := range slice.Times {
		h, err := hdrhistogram.Decode([]byte(raw))
		if err != nil {
			return fmt.Errorf("tally: %s: %w", k, err)
		}
		other.Times[k] = h
	}
	s.Merge(other)
	return nil
}

// Merge adds another sum.
func (s *Sum) Merge(o Sum) {
	if s.Times == nil {
		s.Times, s.Counts = make(map[Kind]*hdrhistogram.Histogram), make(map[string]int64)
	}
	for k, h := range o.Times {
		if s.Times[k] == nil {
			s.Times[k] = New()
		}
		s.Times[k].Merge(h)
	}
	for name, n := range o.Counts {
		s.Counts[name] += n
	}
}

// Quantiles are the quantiles of the durations of a kind, in ms.
type Quantiles struct {
	N   int64   `json:"n"`
	P50 float64 `json:"p50_ms"`
	P90 float64 `json:"p90_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// Quantiles returns the quantiles of a kind; N is 0 if there are none.
func (s Sum) Quantiles(k Kind) (q Quantiles) {
	h := s.Times[k]
	if h == nil {
		return q
	}
	ms := func(quantile float64) float64 { return float64(h.ValueAtQuantile(quantile)) / 1000 }
	return Quantiles{N: h.TotalCount(), P50: ms(50), P90: ms(90), P99: ms(99), Max: float64(h.Max()) / 1000}
}

// All returns the quantiles of all recorded kinds.
func (s Sum) All() map[Kind]Quantiles {
	all := make(map[Kind]Quantiles)
	for k := range maps.Keys(s.Times) {
		all[k] = s.Quantiles(k)
	}
	return all
}
