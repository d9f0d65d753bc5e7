package players

import (
	"math"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxDuration bounds durations; longer ones count as maxDuration.
const maxDuration = time.Minute

// Recorder records durations by kind, and counts by name, in spans of equal length. It is safe
// for concurrent use.
type Recorder struct {
	span  time.Duration
	start time.Time
	mu    sync.Mutex
	sums  map[int]Sum // by number of the span
}

// NewRecorder makes a recorder whose first span starts now.
func NewRecorder(span time.Duration) *Recorder {
	return &Recorder{span: span, start: time.Now(), sums: make(map[int]Sum)}
}

// Add records a duration.
func (r *Recorder) Add(kind string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.current()
	if s.Times[kind] == nil {
		s.Times[kind] = newHistogram()
	}
	_ = s.Times[kind].RecordValue(min(max(d, time.Microsecond), maxDuration).Microseconds()) // the value is in range
}

// Count adds n to the count of a name, such as `answer question_closed`.
func (r *Recorder) Count(name string, n int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current().Counts[name] += n
}

// current returns the sum of the current span. The caller holds the lock.
func (r *Recorder) current() Sum {
	n := r.Span()
	if _, ok := r.sums[n]; !ok {
		r.sums[n] = newSum()
	}
	return r.sums[n]
}

// Span returns the number of the current span, from 0.
func (r *Recorder) Span() int { return int(time.Since(r.start) / r.span) }

// Length returns the length of a span.
func (r *Recorder) Length() time.Duration { return r.span }

// Seconds returns the time from the start of the recording until now.
func (r *Recorder) Seconds() float64 { return time.Since(r.start).Seconds() }

// Between sums up the spans from one number up to another, which is excluded.
func (r *Recorder) Between(from, to int) Sum {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.between(from, to)
}

// All sums up all spans.
func (r *Recorder) All() Sum { return r.Between(0, math.MaxInt) }

// Take returns everything that was recorded since the last call, and forgets it.
func (r *Recorder) Take() Sum {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer clear(r.sums)
	return r.between(0, math.MaxInt)
}

func (r *Recorder) between(from, to int) Sum {
	all := newSum()
	for n, s := range r.sums {
		if n >= from && n < to {
			all.merge(s)
		}
	}
	return all
}

// Sum is what was recorded in some spans.
type Sum struct {
	Times  map[string]*hdrhistogram.Histogram // µs
	Counts map[string]int64
}

func newSum() Sum {
	return Sum{Times: make(map[string]*hdrhistogram.Histogram), Counts: make(map[string]int64)}
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, maxDuration.Microseconds(), 2)
}

func (s Sum) merge(o Sum) {
	for kind, h := range o.Times {
		if s.Times[kind] == nil {
			s.Times[kind] = newHistogram()
		}
		s.Times[kind].Merge(h)
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

// Quantiles returns the quantiles of a kind; N is 0 if nothing was recorded.
func (s Sum) Quantiles(kind string) (q Quantiles) {
	h := s.Times[kind]
	if h == nil {
		return q
	}
	ms := func(quantile float64) float64 { return float64(h.ValueAtQuantile(quantile)) / 1000 }
	return Quantiles{N: h.TotalCount(), P50: ms(50), P90: ms(90), P99: ms(99), Max: float64(h.Max()) / 1000}
}

// All returns the quantiles of all recorded kinds.
func (s Sum) All() map[string]Quantiles {
	all := make(map[string]Quantiles)
	for kind := range s.Times {
		all[kind] = s.Quantiles(kind)
	}
	return all
}
