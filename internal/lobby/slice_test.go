package lobby

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A ticket finds the same opponent as if it read all waiting tickets, although
// it usually reads few of them.
func TestSearchFindsBestOpponentAmongNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store := newMemoryStore()
		lobby := New(Config{Games: map[string]DuelSettings{"demo": {Questions: 10}}, Tickets: store, Bank: fakeBank{}, Now: func() int64 { return 20_000 }})
		var waiting []Ticket
		addRandomTicket := func(name string) Ticket {
			drawn := newTestTicket(name, float64(1400+rapid.IntRange(0, 12).Draw(t, "rating")*25), int64(len(waiting)+1)+rapid.SampledFrom([]int64{0, 18_000}).Draw(t, "joined"))
			drawn.ID = fmt.Sprintf("t_%05d", drawn.JoinedAt) // ids are in the order of joining
			drawn.Filter.Lang = rapid.SampledFrom([]string{"", "en", "zh-CN", "zh-CN", "zh-CN", "zh-CN"}).Draw(t, "lang")
			if listing, err := store.AddTicket(t.Context(), drawn, Activity{}, 20_000); err != nil || listing.Activity.Ticket != drawn.ID {
				t.Fatal(listing, err)
			}
			return drawn
		}
		waiting = append(waiting, addRandomTicket("own")) // usually with few compatible tickets
		for i := range rapid.IntRange(0, 100).Draw(t, "others") {
			waiting = append(waiting, addRandomTicket(fmt.Sprint("p_", i)))
		}
		own := waiting[0] // pickOpponent ignores it
		want, found := pickOpponent(own, waiting, 20_000)
		got, activity, err := lobby.findOpponent(t.Context(), own, nil)
		switch {
		case err != nil || activity.Ticket != own.ID:
			t.Fatalf("activity %+v, %v", activity, err)
		case !found && got != nil:
			t.Errorf("found %+v", got)
		case found && (got == nil || got.ID != want.ID):
			t.Errorf("found %+v, want %+v, of %d", got, want, len(waiting))
		}
	})
}

// A ticket reads no further than necessary: once, if few wait or one of the
// nearest is suitable.
func TestSearchReadsNoMoreThanNecessary(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		n.store.setFault(func(string) storeFault { return faultNone }) // also starts to count calls
		test.ratings["far"] = 9000
		test.mustJoin(n, "far", botAfter(0))
		test.mustJoin(n, "alone", botAfter(0))
		readsBefore := n.store.countCalls("ListNearest")
		time.Sleep(2250 * time.Millisecond)
		if reads := n.store.countCalls("ListNearest") - readsBefore; reads != 8 {
			test.Errorf("two tickets were searched for %d times in 2.25 s", reads)
		}
		for i := range 50 {
			other := newTestTicket(fmt.Sprint("p_", i), 1500, now())
			test.addTicket(other)
		}
		readsBefore = n.store.countCalls("ListNearest")
		test.mustJoin(n, "ada")
		if reads := n.store.countCalls("ListNearest") - readsBefore; reads != 0 {
			test.Errorf("the search read %d times besides the listing of the new ticket", reads)
		}
	})
}
