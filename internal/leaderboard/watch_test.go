package leaderboard

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/testenv"
)

// pushRecorder records the pushes of one watcher and their times.
type pushRecorder struct {
	mu     sync.Mutex
	frames []string
	times  []time.Time
}

func (p *pushRecorder) push(frame []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frames = append(p.frames, string(frame))
	p.times = append(p.times, time.Now())
}

// takeAll returns the pushes since its last call.
func (p *pushRecorder) takeAll() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	frames := p.frames
	p.frames = nil
	return frames
}

// runWithDisplay runs a test with a running display in virtual time.
func runWithDisplay(t *testing.T, test func(t *testing.T, reader *fakeReader, display *Display)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := newFakeReader()
		display := reader.newDisplay()
		testenv.Run(t, display.Run)
		time.Sleep(pushInterval / 2) // so that no poll happens at the instant of an action of the test
		test(t, reader, display)
	})
}

// startWatching adds a watcher. It returns the recorder of its pushes, and the function that
// removes the watcher.
func startWatching(t *testing.T, display *Display, query Query) (*pushRecorder, func()) {
	t.Helper()
	recorder := new(pushRecorder)
	stop, err := display.Watch(t.Context(), "demo", query, recorder.push)
	if err != nil {
		t.Fatal(err)
	}
	return recorder, stop
}

// A board that changes all the time is pushed at most once a second to each watcher.
func TestAWatcherIsPushedAtMostOnceASecond(t *testing.T) {
	runWithDisplay(t, func(t *testing.T, reader *fakeReader, display *Display) {
		var recorders []*pushRecorder
		for i := range 200 {
			reader.update(func() { reader.total++ })
			if i%10 == 0 {
				recorder, _ := startWatching(t, display, Query{Window: All})
				recorders = append(recorders, recorder)
			}
			time.Sleep(70 * time.Millisecond)
		}
		for i, recorder := range recorders {
			recorder.takeAll()
			for n := range len(recorder.times) - 1 {
				if gap := recorder.times[n+1].Sub(recorder.times[n]); gap < pushInterval || gap > 2*pushInterval {
					t.Errorf("watcher %d waited %v between pushes %d and %d", i, gap, n, n+1)
				}
			}
		}
	})
}

func TestARemovedWatcherGetsNoPush(t *testing.T) {
	runWithDisplay(t, func(t *testing.T, reader *fakeReader, display *Display) {
		remaining, stopRemaining := startWatching(t, display, Query{Window: All})
		removed, stopRemoved := startWatching(t, display, Query{Window: All})
		stopRemoved()
		stopRemoved()
		reader.update(func() { reader.total++ })
		time.Sleep(3 * pushInterval)
		if remainingPushes, removedPushes := len(remaining.takeAll()), len(removed.takeAll()); remainingPushes != 2 || removedPushes != 1 {
			t.Errorf("the remaining watcher got %d pushes, the removed one %d", remainingPushes, removedPushes)
		}
		stopRemaining()
		reader.readCount()
		time.Sleep(3 * pushInterval)
		if n := reader.readCount(); n != 0 || len(display.watched) != 0 {
			t.Errorf("without watchers: %d reads, %d watched boards", n, len(display.watched))
		}
	})
}

func TestABoardThatIsNotReadyIsPushedWhenItIsReady(t *testing.T) {
	runWithDisplay(t, func(t *testing.T, reader *fakeReader, display *Display) {
		reader.update(func() { reader.err = fmt.Errorf("%w: being built", ErrNotReady) })
		recorder, _ := startWatching(t, display, Query{Window: All})
		time.Sleep(3 * pushInterval)
		if got := recorder.takeAll(); len(got) != 0 {
			t.Errorf("pushed %q", got)
		}
		reader.update(func() { reader.err = nil })
		time.Sleep(pushInterval)
		if got := recorder.takeAll(); len(got) != 1 {
			t.Errorf("once ready: pushed %q", got)
		}
		reader.update(func() { reader.err, reader.total = errStore, 7 })
		time.Sleep(3 * pushInterval)
		reader.update(func() { reader.err = nil })
		time.Sleep(pushInterval)
		if got := recorder.takeAll(); len(got) != 1 || !strings.Contains(got[0], `"total":7`) {
			t.Errorf("after an outage: pushed %q", got)
		}
	})
}

func TestWatchRefusesBadQueries(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	display := reader.newDisplay()
	for _, want := range []error{ErrNoWindow, ErrBadQuery, errStore} {
		reader.update(func() { reader.err = want })
		if _, err := display.Watch(t.Context(), "demo", Query{Window: "9d"}, nil); !errors.Is(err, want) {
			t.Errorf("Watch returned %v instead of %v", err, want)
		}
	}
	reader.update(func() { reader.err = nil })
	if len(display.watched) != 0 {
		t.Errorf("%d boards are watched", len(display.watched))
	}
}
