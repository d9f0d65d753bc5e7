package leaderboard

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"laststand/internal/protocol"
)

// A push with any limit equals the answer of Page.
func TestPushesEqualPages(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	reader.names["p_2"] = `"entries":[] <&> \u2028 "`
	for _, size := range []int{0, 1, 2, 60, 200, 300} {
		reader.update(func() { reader.entryCount = size })
		display, board := reader.newDisplay(), newPageKey("demo", Query{Window: "7d"})
		board.Limit = 0
		for limit := 1; limit <= MaxLimit; limit++ {
			recorder := new(pushRecorder)
			display.watched[board] = map[*watcher]struct{}{{push: recorder.push, limit: limit}: {}}
			for _, readLimit := range []int{limit, MaxLimit} { // the second page equals the first, so it is not pushed
				display.poll(t.Context(), board, readLimit)
			}
			answer, err := display.Page(t.Context(), "demo", Query{Window: "7d", Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			want := string(protocol.EncodePush(protocol.TypeBoard, json.RawMessage(answer.JSON)))
			if got := recorder.takeAll(); len(got) != 1 || got[0] != want {
				t.Fatalf("%d entries, limit %d:\n%s\nwant\n%s", size, limit, got, want)
			}
		}
	}
}

// A board is read once a second for watchers with all limits. Each gets a push within a
// second of a change.
func TestWatchersWithDifferentLimitsShareReads(t *testing.T) {
	runWithDisplay(t, func(t *testing.T, reader *fakeReader, display *Display) {
		reader.entryCount = 300
		watchers := make([]*pushRecorder, 0, 3*MaxLimit)
		for i := range cap(watchers) {
			recorder, _ := startWatching(t, display, Query{Window: All, Limit: 1 + i%MaxLimit})
			watchers = append(watchers, recorder)
		}
		defaultWatcher, _ := startWatching(t, display, Query{Window: All})
		watchers = append(watchers, defaultWatcher)
		if len(display.watched) != 1 {
			t.Errorf("%d boards are watched", len(display.watched))
		}
		time.Sleep(2 * pushInterval)
		reader.readCount()
		for second := range 10 {
			changed := second%3 == 0
			for i, recorder := range watchers {
				entries := 1 + i%MaxLimit
				if recorder == defaultWatcher {
					entries = DefaultLimit
				}
				got := recorder.takeAll()
				if (len(got) == 1) != changed || len(got) > 1 || changed && strings.Count(got[0], `"id":`) != entries {
					t.Fatalf("second %d, changed %v: watcher %d of %d entries was pushed %.300q", second, changed, i, entries, got)
				}
			}
			reader.update(func() {
				if second%3 == 2 {
					reader.total++
				}
			})
			time.Sleep(pushInterval)
		}
		if n := reader.readCount(); n != 10 {
			t.Errorf("%d reads in 10 seconds", n)
		}
	})
}

// A watcher gets a push only if an entry within its limit has changed.
func TestAChangeBelowTheLimitIsNotPushed(t *testing.T) {
	runWithDisplay(t, func(t *testing.T, reader *fakeReader, display *Display) {
		reader.entryCount = 3
		twoEntries, _ := startWatching(t, display, Query{Window: All, Limit: 2})
		time.Sleep(2 * pushInterval)
		threeEntries, stop := startWatching(t, display, Query{Window: All, Limit: 3})
		if got := threeEntries.takeAll(); len(got) != 1 || strings.Count(got[0], `"id":`) != 3 {
			t.Errorf("a watcher with a larger limit than the others was first pushed %q", got)
		}
		time.Sleep(2 * pushInterval)
		twoEntries.takeAll()
		reader.update(func() { reader.lastValue = 9 })
		time.Sleep(pushInterval)
		if pushedToTwo, pushedToThree := twoEntries.takeAll(), threeEntries.takeAll(); len(pushedToTwo) != 0 || len(pushedToThree) != 1 {
			t.Errorf("after a change of the third entry, %q was pushed for limit 2, %q for limit 3", pushedToTwo, pushedToThree)
		}
		stop()
		reader.update(func() { reader.total++ })
		time.Sleep(pushInterval)
		if got := twoEntries.takeAll(); len(got) != 1 || strings.Count(got[0], `"id":`) != 2 {
			t.Errorf("after the other watcher has left: %q", got)
		}
	})
}
