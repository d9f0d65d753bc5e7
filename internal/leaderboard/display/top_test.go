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

// A watcher of any limit is pushed what Page answers to it.
func TestPushesAreWhatPageAnswers(t *testing.T) {
	t.Parallel()
	h := newHall()
	h.names["p_2"] = `"entries":[] <&> \u2028 "`
	d := h.Show()
	for _, size := range []int{0, 1, 2, 60, 200, 300} {
		h.set(func() { h.size = size })
		for _, read := range []int{1, 50, leaderboard.MaxLimit} {
			top, err := d.readTop(t.Context(), pageKey{game: "demo", window: "7d", order: leaderboard.ByValue, kind: leaderboard.Players}, read)
			if err != nil {
				t.Fatal(err)
			}
			if !top.covers(read) || top.covers(read+1) != (size < read) {
				t.Errorf("%d of %d entries read: covers %v, one more %v", read, size, top.covers(read), top.covers(read+1))
			}
			for limit := 1; limit <= read; limit++ {
				shown, err := d.page(t.Context(), "demo", leaderboard.Query{Window: "7d", Limit: limit})
				if err != nil {
					t.Fatal(err)
				}
				want := string(protocol.EncodePush(protocol.TypeBoard, json.RawMessage(shown.JSON)))
				if got := string(top.frame(limit)); got != want {
					t.Fatalf("%d entries, %d read, limit %d:\n%s\nwant\n%s", size, read, limit, got, want)
				}
			}
		}
	}
}

// However many limits are watched, a board has one feed and is read once a second.
func TestLimitsShareAFeed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		h.size = 300
		d := running(t, h)
		crowd := make([]*inbox, 0, 3*leaderboard.MaxLimit)
		for i := range cap(crowd) {
			in, _ := watching(t, d, leaderboard.Query{Window: leaderboard.All, Limit: 1 + i%leaderboard.MaxLimit})
			crowd = append(crowd, in)
		}
		honest, _ := watching(t, d, leaderboard.Query{Window: leaderboard.All})
		crowd = append(crowd, honest)
		if len(d.feeds.open) != 1 {
			t.Errorf("%d feeds of one board", len(d.feeds.open))
		}
		time.Sleep(2 * pushEvery)
		h.readings()
		for round := range 3 {
			for i, in := range crowd {
				entries := 1 + i%leaderboard.MaxLimit
				if in == honest {
					entries = leaderboard.DefaultLimit
				}
				if got := in.take(); len(got) != 1 || strings.Count(got[0], `"id":`) != entries {
					t.Fatalf("round %d: watcher %d of %d entries was pushed %.300q", round, i, entries, got)
				}
			}
			h.set(func() { h.total++ })
			time.Sleep(pushEvery)
		}
		if n := h.readings(); n != 3 {
			t.Errorf("%d reads in 3 seconds", n)
		}
	})
}

// A watcher is pushed what changed for its limit, and nothing else.
func TestAChangeBehindTheLimitIsNotPushed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHall()
		h.size = 3
		d := running(t, h)
		few, _ := watching(t, d, leaderboard.Query{Window: leaderboard.All, Limit: 2})
		time.Sleep(2 * pushEvery)
		all, leave := watching(t, d, leaderboard.Query{Window: leaderboard.All, Limit: 3})
		if got := all.take(); len(got) != 1 || strings.Count(got[0], `"id":`) != 3 {
			t.Errorf("who wants more than was read is pushed %q at once", got)
		}
		time.Sleep(2 * pushEvery)
		few.take()
		h.set(func() { h.last = 9 })
		time.Sleep(pushEvery)
		if one, other := few.take(), all.take(); len(one) != 0 || len(other) != 1 {
			t.Errorf("a change of the third entry: pushed %q to a limit of 2, %q to one of 3", one, other)
		}
		leave()
		h.set(func() { h.total++ })
		time.Sleep(pushEvery)
		if got := few.take(); len(got) != 1 || strings.Count(got[0], `"id":`) != 2 {
			t.Errorf("once it is alone: %q", got)
		}
	})
}

// Watchers with the same limit are pushed the same frame, made once, whatever limits
// others have.
func TestEachLimitHasItsFrameMadeOnce(t *testing.T) {
	t.Parallel()
	f := &feed{}
	f.show(newTop(leaderboard.TopPage{Page: leaderboard.Page{Kind: leaderboard.Players}}, leaderboard.MaxLimit))
	for limit := 1; limit <= leaderboard.MaxLimit; limit++ {
		one, other := f.frame(limit), f.frame(limit)
		if &one.bytes[0] != &other.bytes[0] {
			t.Fatalf("the frame of limit %d is made twice", limit)
		}
	}
}
