package bench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/semaphore"
)

// flow counts the events that enter and leave a way. It holds producers back so that at
// most a window of events is between the two.
type flow struct {
	room              *semaphore.Weighted
	offered, reported atomic.Int64
	measuring         atomic.Bool

	mu    sync.Mutex
	taken *hdrhistogram.Histogram // ms from offered to reported, during the measurement
}

func newFlow(window int64) *flow {
	return &flow{room: semaphore.NewWeighted(window), taken: hdrhistogram.New(1, 300_000, 3)}
}

// admit waits for room for n more events. It returns false if ctx ends first.
func (f *flow) admit(ctx context.Context, n int) bool {
	if f.room.Acquire(ctx, int64(n)) != nil {
		return false
	}
	f.offered.Add(int64(n))
	return true
}

// arrived records n reported events. The function at returns the time of each offer, in
// epoch ms.
func (f *flow) arrived(n int, at func(i int) int64) {
	f.reported.Add(int64(n))
	f.room.Release(int64(n))
	if !f.measuring.Load() {
		return
	}
	now := time.Now().UnixMilli()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range n {
		_ = f.taken.RecordValue(now - at(i)) // an error means that the clock has been set
	}
}

// drain waits until all offered events are reported.
func (f *flow) drain(b *testing.B) {
	late := time.Now().Add(2 * time.Minute) // long enough for a busy machine
	for f.reported.Load() < f.offered.Load() {
		if time.Now().After(late) {
			b.Fatalf("%d events were offered, %d reported", f.offered.Load(), f.reported.Load())
		}
		time.Sleep(time.Millisecond)
	}
}

// whole checks that each offered event was reported exactly once, except for the lost
// events that the way has counted.
func (f *flow) whole(lost int64) error {
	if offered, reported := f.offered.Load(), f.reported.Load(); offered != reported || lost != 0 {
		return fmt.Errorf("%d events were offered, %d reported, %d counted as lost", offered, reported, lost)
	}
	if f.offered.Load() == 0 {
		return errors.New("nothing was offered")
	}
	return nil
}
