// Package stats takes how long things took and what went wrong, in many
// processes at once, and puts that together over time.
package stats

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Kind is what took time.
type Kind string

// All there is.
const (
	Connect   Kind = "connect"   // from dialling to welcome
	Answer    Kind = "answer"    // from an answer to answered
	Found     Kind = "found"     // from duel.join to match.found
	Question  Kind = "question"  // from opens_at until a player has the question
	Settled   Kind = "settled"   // from match.over to settled: in the ledger and on the boards
	Board     Kind = "board"     // a leaderboard over HTTP
	Behaviour Kind = "behaviour" // a call that posts some
)

// Kinds are all of them, in the order in which they are shown.
var Kinds = []Kind{Connect, Answer, Found, Question, Settled, Board, Behaviour}

// MaxTime is what is longer counted as.
const MaxTime = time.Minute

// New makes a histogram of µs, exact to a hundredth.
func New() *hdrhistogram.Histogram { return hdrhistogram.New(1, MaxTime.Microseconds(), 2) }

// Recorder is what one process sees. It is safe for concurrent use; the zero value
// is ready.
type Recorder struct {
	mu     sync.Mutex
	times  map[Kind]*hdrhistogram.Histogram
	counts map[string]int64
}

// Add takes how long something took.
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
	_ = h.RecordValue(min(max(took, time.Microsecond), MaxTime).Microseconds()) // it is in range
}

// Count counts something by a name, such as `answer question_closed`.
func (t *Recorder) Count(name string, n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[string]int64)
	}
	t.counts[name] += n
}

// Slice is what a process saw in a span of time.
type Slice struct {
	Times  map[Kind]string  `json:"times,omitempty"` // histograms, as encoded
	Counts map[string]int64 `json:"counts,omitempty"`
}

// Take gives what was seen since it was called last.
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

// Sum is what was seen in a span of time by all.
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

// Quantiles are of how long a kind took, in ms.
type Quantiles struct {
	N   int64   `json:"n"`
	P50 float64 `json:"p50_ms"`
	P90 float64 `json:"p90_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// Quantiles are those of a kind; none where N is 0.
func (s Sum) Quantiles(k Kind) (q Quantiles) {
	h := s.Times[k]
	if h == nil {
		return q
	}
	ms := func(quantile float64) float64 { return float64(h.ValueAtQuantile(quantile)) / 1000 }
	return Quantiles{N: h.TotalCount(), P50: ms(50), P90: ms(90), P99: ms(99), Max: float64(h.Max()) / 1000}
}

// All are the quantiles of all kinds that there are.
func (s Sum) All() map[Kind]Quantiles {
	all := make(map[Kind]Quantiles)
	for k := range maps.Keys(s.Times) {
		all[k] = s.Quantiles(k)
	}
	return all
}
