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

// inbox keeps what one watcher was pushed, and when.
type inbox struct {
	mu     sync.Mutex
	frames []string
	times  []time.Time
}

func (b *inbox) push(frame []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.frames = append(b.frames, string(frame))
	b.times = append(b.times, time.Now())
}

// take gives what was pushed since it was called last.
func (b *inbox) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	frames := b.frames
	b.frames = nil
	return frames
}

// running runs a display in the bubble of a test, until it ends.
func running(t *testing.T, h *hall) *Display {
	t.Helper()
	d := h.Show()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- d.Run(ctx) }()
	time.Sleep(pushEvery / 2) // the looks lie between the instants of the test
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return d
}

func watching(t *testing.T, d *Display, q leaderboard.Query) (*inbox, func()) {
	t.Helper()
	in := new(inbox)
	leave, err := d.Watch(t.Context(), "demo", q, in.push)
	if err != nil {
		t.Fatal(err)
	}
	return in, leave
}

// A thousand watchers of a board cost one read a second, are pushed when it has
// changed and only then, each within a second and none twice within one.
func TestAThousandWatchers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		d := running(t, h)
		all := make([]*inbox, 1000)
		for i := range all {
			all[i], _ = watching(t, d, leaderboard.Query{Window: leaderboard.All})
			time.Sleep(pushEvery / 2500)
		}
		time.Sleep(2 * pushEvery)
		if n := h.readings(); n > 4 {
			t.Errorf("%d reads while they came", n)
		}
		for i, in := range all {
			if got := in.take(); len(got) != 1 || !strings.HasPrefix(got[0], `{"type":"board","data":{"game":"demo",`) {
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
			time.Sleep(pushEvery)
			for i, in := range all {
				if got := in.take(); (len(got) == 1) != changed || len(got) > 1 {
					t.Fatalf("second %d, changed %v: watcher %d was pushed %d times", second, changed, i, len(got))
				}
			}
		}
		if n := h.readings(); n != 10 {
			t.Errorf("%d reads in 10 seconds", n)
		}
	})
}

// Whoever comes when, a board that always changes is pushed at most once a second.
func TestAtMostOnceASecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		d := running(t, h)
		var all []*inbox
		for i := range 200 {
			h.set(func() { h.total++ })
			if i%10 == 0 {
				in, _ := watching(t, d, leaderboard.Query{Window: leaderboard.All})
				all = append(all, in)
			}
			time.Sleep(70 * time.Millisecond)
		}
		for i, in := range all {
			in.take()
			for n := range len(in.times) - 1 {
				if gap := in.times[n+1].Sub(in.times[n]); gap < pushEvery || gap > 2*pushEvery {
					t.Errorf("watcher %d waited %v between pushes %d and %d", i, gap, n, n+1)
				}
			}
		}
	})
}

func TestWhoLeavesIsPushedNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		d := running(t, h)
		stays, leaveLast := watching(t, d, leaderboard.Query{Window: leaderboard.All})
		leaves, leave := watching(t, d, leaderboard.Query{Window: leaderboard.All})
		leave()
		leave()
		h.set(func() { h.total++ })
		time.Sleep(3 * pushEvery)
		if one, other := len(stays.take()), len(leaves.take()); one != 2 || other != 1 {
			t.Errorf("who stays was pushed %d times, who left %d times", one, other)
		}
		leaveLast()
		h.readings()
		time.Sleep(3 * pushEvery)
		if n := h.readings(); n != 0 || len(d.feeds.open) != 0 {
			t.Errorf("with nobody watching: %d reads, %d feeds", n, len(d.feeds.open))
		}
	})
}

func TestABoardThatIsNotReadyComesLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		d := running(t, h)
		h.set(func() { h.fail = fmt.Errorf("%w: being built", leaderboard.ErrNotReady) })
		in, _ := watching(t, d, leaderboard.Query{Window: leaderboard.All})
		time.Sleep(3 * pushEvery)
		if got := in.take(); len(got) != 0 {
			t.Errorf("pushed %q", got)
		}
		h.set(func() { h.fail = nil })
		time.Sleep(pushEvery)
		if got := in.take(); len(got) != 1 {
			t.Errorf("once ready: pushed %q", got)
		}
		h.set(func() { h.fail, h.total = errStore, 7 })
		time.Sleep(3 * pushEvery)
		h.set(func() { h.fail = nil })
		time.Sleep(pushEvery)
		if got := in.take(); len(got) != 1 || !strings.Contains(got[0], `"total":7`) {
			t.Errorf("after an outage: pushed %q", got)
		}
	})
}

func TestWhatCannotBeWatched(t *testing.T) {
	t.Parallel()
	h := newHall()
	d := h.Show()
	for _, fault := range []error{leaderboard.ErrNoWindow, leaderboard.ErrBadQuery, errStore} {
		h.set(func() { h.fail = fault })
		if _, err := d.Watch(t.Context(), "demo", leaderboard.Query{Window: "9d"}, nil); !errors.Is(err, fault) {
			t.Errorf("%v instead of %v", err, fault)
		}
	}
	h.set(func() { h.fail = nil })
	if len(d.feeds.open) != 0 {
		t.Errorf("%d feeds are left", len(d.feeds.open))
	}
}
