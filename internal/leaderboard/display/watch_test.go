package display

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/leaderboard"
)

// pushRecorder records the pushes of one watcher and their times.
type pushRecorder struct {
	mu     sync.Mutex
	frames []string
	times  []time.Time
}

func (b *pushRecorder) push(frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames = append(b.frames, string(frame))
	b.times = append(b.times, time.Now())
}

// takeAll returns the pushes since its last call.
func (b *pushRecorder) takeAll() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	frames := b.frames
	b.frames = nil
	return frames
}

// startDisplay runs a display in the test's synctest bubble until the test ends.
func startDisplay(t *testing.T, h *fakeReader) *Display {
	t.Helper()
	d := h.Show()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	time.Sleep(pushInterval / 2) // the polls happen between the actions of the test
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

func watch(t *testing.T, d *Display, q leaderboard.Query) (*pushRecorder, func()) {
	t.Helper()
	in := new(pushRecorder)
	leave, err := d.Watch(t.Context(), "demo", q, in.push)
	if err != nil {
		t.Fatal(err)
	}
	return in, leave
}

// A thousand watchers of a board cost one read a second. Each gets a push within a
// second of a change, and never two within one second.
func TestAThousandWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeReader()
		d := startDisplay(t, h)
		all := make([]*pushRecorder, 1000)
		for i := range all {
			all[i], _ = watch(t, d, leaderboard.Query{Window: leaderboard.All})
			time.Sleep(pushInterval / 2500)
		}
		time.Sleep(2 * pushInterval)
		if n := h.readCount(); n > 4 {
			t.Errorf("%d reads while watchers were added", n)
		}
		for i, in := range all {
			if got := in.takeAll(); len(got) != 1 || !strings.HasPrefix(got[0], `{"type":"board","data":{"game":"demo",`) {
				t.Fatalf("watcher %d was first pushed %q", i, got)
			}
		}
		for second := range 10 {
			changed := second%3 == 0
			h.set(func() {
				if changed {
					h.total++
				}
			})
			time.Sleep(pushInterval)
			for i, in := range all {
				if got := in.takeAll(); (len(got) == 1) != changed || len(got) > 1 {
					t.Fatalf("second %d, changed %v: watcher %d was pushed %d times", second, changed, i, len(got))
				}
			}
		}
		if n := h.readCount(); n != 10 {
			t.Errorf("%d reads in 10 seconds", n)
		}
	})
}

// A board that changes all the time is pushed at most once a second to each watcher.
func TestAWatcherIsPushedAtMostOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeReader()
		d := startDisplay(t, h)
		var all []*pushRecorder
		for i := range 200 {
			h.set(func() { h.total++ })
			if i%10 == 0 {
				in, _ := watch(t, d, leaderboard.Query{Window: leaderboard.All})
				all = append(all, in)
			}
			time.Sleep(70 * time.Millisecond)
		}
		for i, in := range all {
			in.takeAll()
			for n := range len(in.times) - 1 {
				if gap := in.times[n+1].Sub(in.times[n]); gap < pushInterval || gap > 2*pushInterval {
					t.Errorf("watcher %d waited %v between pushes %d and %d", i, gap, n, n+1)
				}
			}
		}
	})
}

func TestARemovedWatcherIsPushedNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeReader()
		d := startDisplay(t, h)
		stays, leaveLast := watch(t, d, leaderboard.Query{Window: leaderboard.All})
		leaves, leave := watch(t, d, leaderboard.Query{Window: leaderboard.All})
		leave()
		leave()
		h.set(func() { h.total++ })
		time.Sleep(3 * pushInterval)
		if one, other := len(stays.takeAll()), len(leaves.takeAll()); one != 2 || other != 1 {
			t.Errorf("the remaining watcher got %d pushes, the removed one %d", one, other)
		}
		leaveLast()
		h.readCount()
		time.Sleep(3 * pushInterval)
		if n := h.readCount(); n != 0 || len(d.feeds.byKey) != 0 {
			t.Errorf("without watchers: %d reads, %d feeds", n, len(d.feeds.byKey))
		}
	})
}

func TestABoardThatIsNotReadyComesLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFakeReader()
		d := startDisplay(t, h)
		h.set(func() { h.fail = fmt.Errorf("%w: being built", leaderboard.ErrNotReady) })
		in, _ := watch(t, d, leaderboard.Query{Window: leaderboard.All})
		time.Sleep(3 * pushInterval)
		if got := in.takeAll(); len(got) != 0 {
			t.Errorf("pushed %q", got)
		}
		h.set(func() { h.fail = nil })
		time.Sleep(pushInterval)
		if got := in.takeAll(); len(got) != 1 {
			t.Errorf("once ready: pushed %q", got)
		}
		h.set(func() { h.fail, h.total = errStore, 7 })
		time.Sleep(3 * pushInterval)
		h.set(func() { h.fail = nil })
		time.Sleep(pushInterval)
		if got := in.takeAll(); len(got) != 1 || !strings.Contains(got[0], `"total":7`) {
			t.Errorf("after an outage: pushed %q", got)
		}
	})
}

func TestWatchRefusesBadQueries(t *testing.T) {
	t.Parallel()
	h := newFakeReader()
	d := h.Show()
	for _, fault := range []error{leaderboard.ErrNoWindow, leaderboard.ErrBadQuery, errStore} {
		h.set(func() { h.fail = fault })
		if _, err := d.Watch(t.Context(), "demo", leaderboard.Query{Window: "9d"}, nil); !errors.Is(err, fault) {
			t.Errorf("%v instead of %v", err, fault)
		}
	}
	h.set(func() { h.fail = nil })
	if len(d.feeds.byKey) != 0 {
		t.Errorf("%d feeds are left", len(d.feeds.byKey))
	}
}
