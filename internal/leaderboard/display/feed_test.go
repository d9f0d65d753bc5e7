package display

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
)

// A push with any limit equals the answer of Page.
func TestPushesEqualPages(t *testing.T) {
	t.Parallel()
	reader := newFakeReader()
	reader.names["p_2"] = `"entries":[] <&> \u2028 "`
	display := reader.newDisplay()
	for _, size := range []int{0, 1, 2, 60, 200, 300} {
		reader.update(func() { reader.entryCount = size })
		for _, readLimit := range []int{1, 50, leaderboard.MaxLimit} {
			top, err := display.readTop(t.Context(), pageKey{game: "demo", window: "7d", order: leaderboard.ByValue, kind: leaderboard.Players}, readLimit)
			if err != nil {
				t.Fatal(err)
			}
			feed := &feed{}
			feed.setTop(top, readLimit)
			if !feed.covers(readLimit) || feed.covers(readLimit+1) != (size < readLimit) {
				t.Errorf("%d of %d entries read: covers %v, one more %v", readLimit, size, feed.covers(readLimit), feed.covers(readLimit+1))
			}
			for limit := 1; limit <= readLimit; limit++ {
				shown, err := display.readPage(t.Context(), "demo", leaderboard.Query{Window: "7d", Limit: limit})
				if err != nil {
					t.Fatal(err)
				}
				want := string(protocol.EncodePush(protocol.TypeBoard, json.RawMessage(shown.JSON)))
				if got := string(feed.frameFor(limit).bytes); got != want {
					t.Fatalf("%d entries, %d read, limit %d:\n%s\nwant\n%s", size, readLimit, limit, got, want)
				}
			}
		}
	}
}

// A board has one feed for all limits, and is read once a second.
func TestWatchersWithDifferentLimitsShareAFeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := newFakeReader()
		reader.entryCount = 300
		display := startDisplay(t, reader)
		watchers := make([]*pushRecorder, 0, 3*leaderboard.MaxLimit)
		for i := range cap(watchers) {
			recorder, _ := startWatching(t, display, leaderboard.Query{Window: leaderboard.All, Limit: 1 + i%leaderboard.MaxLimit})
			watchers = append(watchers, recorder)
		}
		defaultWatcher, _ := startWatching(t, display, leaderboard.Query{Window: leaderboard.All})
		watchers = append(watchers, defaultWatcher)
		if len(display.feeds.byKey) != 1 {
			t.Errorf("%d feeds of one board", len(display.feeds.byKey))
		}
		time.Sleep(2 * pushInterval)
		reader.readCount()
		for round := range 3 {
			for i, recorder := range watchers {
				entries := 1 + i%leaderboard.MaxLimit
				if recorder == defaultWatcher {
					entries = leaderboard.DefaultLimit
				}
				if got := recorder.takeAll(); len(got) != 1 || strings.Count(got[0], `"id":`) != entries {
					t.Fatalf("round %d: watcher %d of %d entries was pushed %.300q", round, i, entries, got)
				}
			}
			reader.update(func() { reader.total++ })
			time.Sleep(pushInterval)
		}
		if n := reader.readCount(); n != 3 {
			t.Errorf("%d reads in 3 seconds", n)
		}
	})
}

// A watcher gets a push only if an entry within its limit has changed.
func TestAChangeBelowTheLimitIsNotPushed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader := newFakeReader()
		reader.entryCount = 3
		display := startDisplay(t, reader)
		twoEntries, _ := startWatching(t, display, leaderboard.Query{Window: leaderboard.All, Limit: 2})
		time.Sleep(2 * pushInterval)
		threeEntries, stop := startWatching(t, display, leaderboard.Query{Window: leaderboard.All, Limit: 3})
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

// Watchers with the same limit get the same frame, which is encoded once.
func TestAFrameIsEncodedOncePerLimit(t *testing.T) {
	t.Parallel()
	emptyFeed := &feed{}
	emptyFeed.setTop(leaderboard.TopPage{Page: leaderboard.Page{Kind: leaderboard.Players}}, leaderboard.MaxLimit)
	for limit := 1; limit <= leaderboard.MaxLimit; limit++ {
		first, second := emptyFeed.frameFor(limit), emptyFeed.frameFor(limit)
		if &first.bytes[0] != &second.bytes[0] {
			t.Fatalf("the frame of limit %d is encoded twice", limit)
		}
	}
}
