package lobby

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A ticket finds the same opponent as if it read all waiting tickets, although
// it usually reads few of them.
func TestTheBestIsFoundAmongTheNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		store := newMemory()
		lobby := New(Config{Games: map[string]Duel{"demo": {Questions: 10}}, Store: store, Bank: fakeBank{}, Now: func() int64 { return 20_000 }})
		var all []Ticket
		draw := func(name string) Ticket {
			c := ticket(name, float64(1400+rapid.IntRange(0, 12).Draw(t, "rating")*25), int64(len(all)+1)+rapid.SampledFrom([]int64{0, 18_000}).Draw(t, "joined"))
			c.ID = fmt.Sprintf("t_%05d", c.JoinedAt) // ids are in the order of joining
			c.Filter.Lang = rapid.SampledFrom([]string{"", "en", "zh-CN", "zh-CN", "zh-CN", "zh-CN"}).Draw(t, "lang")
			if _, with, err := store.AddTicket(t.Context(), c, Activity{}, 20_000); err != nil || with != (Activity{}) {
				t.Fatal(with, err)
			}
			return c
		}
		all = append(all, draw("own")) // usually with few compatible ones
		for i := range rapid.IntRange(0, 100).Draw(t, "others") {
			all = append(all, draw(fmt.Sprint("p_", i)))
		}
		own := all[0] // pickOpponent ignores it
		want, found := pickOpponent(own, all, 20_000)
		got, waits, err := lobby.findOpponent(t.Context(), own)
		switch {
		case err != nil || !waits:
			t.Fatalf("waits %v, %v", waits, err)
		case !found && got != nil:
			t.Errorf("found %+v", got)
		case found && (got == nil || got.ID != want.ID):
			t.Errorf("found %+v, want %+v, of %d", got, want, len(all))
		}
	})
}

// A ticket reads no further than necessary: once, if few wait or one of the
// nearest is suitable.
func TestATicketSearchesOnce(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		n.link.set(func(string) fault { return works }) // and counts the reads
		w.skill["far"] = 9000
		w.mustJoin(n, "far", botAfter(0))
		w.mustJoin(n, "alone", botAfter(0))
		began := n.link.called("ListNearest")
		time.Sleep(2250 * time.Millisecond)
		if looks := n.link.called("ListNearest") - began; looks != 8 {
			w.Errorf("two tickets looked %d times in 2.25 s", looks)
		}
		for i := range 50 {
			other := ticket(fmt.Sprint("p_", i), 1500, now())
			if _, _, err := w.store.AddTicket(w.Context(), other, Activity{}, now()); err != nil {
				w.Fatal(err)
			}
		}
		began = n.link.called("ListNearest")
		w.mustJoin(n, "ada")
		if looks := n.link.called("ListNearest") - began; looks != 1 {
			w.Errorf("it looked %d times", looks)
		}
	})
}
