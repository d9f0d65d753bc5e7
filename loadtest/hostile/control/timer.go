package control

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// timer records durations.
type timer struct {
	mu   sync.Mutex
	took *hdrhistogram.Histogram // µs
}

func (t *timer) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.took == nil {
		t.took = hdrhistogram.New(1, 60_000_000, 3)
	}
	_ = t.took.RecordValue(min(max(d.Microseconds(), 1), 60_000_000)) // the value is in range
}

// Times is a summary of durations, in ms.
type Times struct {
	N   int64   `json:"n"`
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// take returns the durations since the last call.
func (t *timer) take() (out Times) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.took == nil {
		return out
	}
	ms := func(q float64) float64 { return float64(t.took.ValueAtQuantile(q)) / 1000 }
	out = Times{t.took.TotalCount(), ms(50), ms(99)}
	t.took = nil
	return out
}

// Measurements is the service that honest players got in a span of time.
type Measurements struct {
	Answers   Times `json:"answers"`    // from an answer to its reply
	Reads     Times `json:"reads"`      // of leaderboards, over HTTP
	Pongs     Times `json:"pongs"`      // of watchers
	NewGuests Times `json:"new_guests"` // until a new guest is made, connected and welcome
	Shed      int64 `json:"shed"`       // reads and arrivals that an overloaded server postponed
}

// Service returns the measurements since the last call.
func (w *Group) Service() Measurements {
	return Measurements{w.answers.take(), w.reads.take(), w.pongs.take(), w.newGuests.take(), w.shed.Swap(0)}
}
