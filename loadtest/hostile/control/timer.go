package control

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// timer takes how long things took.
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
	_ = t.took.RecordValue(min(max(d.Microseconds(), 1), 60_000_000)) // it is in range
}

// Times are how long things took, in ms.
type Times struct {
	N   int64   `json:"n"`
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
}

// take gives what was taken since it was called last.
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

// Measurements is what honest players had of a server in a span of time.
type Measurements struct {
	Answers   Times `json:"answers"`    // from an answer to its reply
	Reads     Times `json:"reads"`      // of boards over HTTP
	Pongs     Times `json:"pongs"`      // of those who watch
	NewGuests Times `json:"new_guests"` // a new guest: made, connected, welcome
	Shed      int64 `json:"shed"`       // reads and arrivals put off by a server that says that it is overloaded
}

// Service is what they had since this was called last.
func (w *Group) Service() Measurements {
	return Measurements{w.answers.take(), w.reads.take(), w.pongs.take(), w.newGuests.take(), w.shed.Swap(0)}
}
