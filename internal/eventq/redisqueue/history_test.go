package redisqueue

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"laststand/internal/eventq"
)

// modelTest runs the same operations on a queue and on its model.
type modelTest struct {
	*queueTest
	t     *rapid.T
	m     *model
	calls int
	turns int // pushes of a process that makes one after the other
}

// After any sequence of operations, the order, limit, counters and due time equal
// those of the model. The client library runs scripts twice.
func TestAQueueEqualsItsModelAfterAnyHistory(t *testing.T) {
	each(t, func(l *queueTest) {
		number := partitionOf(l.terms.Game)
		rapid.Check(t, func(t *rapid.T) {
			l.client.Del(l.Context(), l.keys.due())
			l.now, l.terms = epoch, drawTerms(t)
			l.terms.Game = gameIn(number)
			h := &modelTest{queueTest: l, t: t, m: newModel(l.terms)}
			t.Repeat(map[string]func(*rapid.T){
				"": h.check, "push": h.drawPush, "push in turn": h.drawPushFrom, "take": h.drawTake, "take more": h.drawTake,
				"settle": h.drawFinish, "settle again": h.finishAgain,
				"time": h.drawTime, "pause": h.drawPause, "bound": h.drawMaxLen,
				"discard": h.discard, "hurry": h.drawFlushNow, "keep": h.drawMaintain, "lose": h.loseQueue, "flush": h.flush,
				"twice": func(t *rapid.T) { l.again.enabled.Store(rapid.Bool().Draw(t, "on")) },
			})
			l.again.enabled.Store(false)
		})
	})
}

func drawTerms(t *rapid.T) eventq.Policy {
	return eventq.Policy{
		MaxLen:    rapid.IntRange(1, 12).Draw(t, "max len"),
		Overflow:  rapid.SampledFrom([]eventq.Overflow{eventq.DropOldest, eventq.DropNewest, eventq.Reject}).Draw(t, "overflow"),
		BatchSize: rapid.IntRange(1, 5).Draw(t, "batch"),
		FlushMS:   rapid.Int64Range(0, 2000).Draw(t, "flush"),
		MaxAgeMS:  170_000,
		PerSecond: rapid.SampledFrom([]float64{0, 0.3, 1, 2.5, 1000}).Draw(t, "per second"),
		Burst:     rapid.IntRange(1, 3).Draw(t, "burst"),
	}
}

// id returns a new id, or one that was used.
func (h *modelTest) id(t *rapid.T, kind string) string {
	if h.calls > 0 && rapid.IntRange(0, 3).Draw(t, "repeat") == 0 {
		return fmt.Sprint(h.terms.Game, kind, rapid.IntRange(0, h.calls).Draw(t, "call"))
	}
	h.calls++
	return fmt.Sprint(h.terms.Game, kind, h.calls)
}

func (h *modelTest) drawPush(t *rapid.T) {
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "cd", "e", "f", "g", "h"}), 0, 9).Draw(t, "ids")
	p := eventq.Push{ID: h.id(t, "push"), Items: h.ownItems(names...), Posted: rapid.Bool().Draw(t, "posted"), Now: h.now}
	if rapid.Bool().Draw(t, "posted") {
		p.Items = h.postedItems(names...)
	}
	if n := rapid.Int64Range(0, 2).Draw(t, "refused"); n > 0 {
		p.Refused = dropCounts{eventq.Invalid: n}
	}
	h.checkPush(t, p)
}

// drawPushFrom draws an ordered push of a process, or repeats its last push.
func (h *modelTest) drawPushFrom(t *rapid.T) {
	if h.turns == 0 || rapid.IntRange(0, 3).Draw(t, "repeat") > 0 {
		h.turns++
	}
	p := eventq.Push{
		ID: fmt.Sprintf("%s-%06d", h.terms.Game, h.turns), From: "process", Now: h.now,
		Items: h.ownItems(ids(0, rapid.IntRange(1, 9).Draw(t, "items"))...),
	}
	h.checkPush(t, p)
}

func (h *modelTest) checkPush(t *rapid.T, p eventq.Push) {
	want, wantErr := h.m.push(p)
	got, err := h.Push(h.Context(), h.terms, p)
	if !errors.Is(err, wantErr) || got.Queued != want.Queued || got.Length != want.Length || len(got.Dropped) != len(want.Dropped) ||
		len(got.Dropped) > 0 && !reflect.DeepEqual(got.Dropped, want.Dropped) {
		t.Fatalf("pushed %+v, %v, want %+v, %v", got, err, want, wantErr)
	}
}

func (h *modelTest) drawTake(t *rapid.T) {
	take := eventq.Take{
		Batch: h.id(t, "batch"), Messages: rapid.IntRange(1, 4).Draw(t, "messages"),
		Now: h.now, Lease: rapid.Int64Range(2000, 9000).Draw(t, "lease"),
	}
	want := h.m.take(take)
	got, err := h.Take(h.Context(), h.terms, take)
	if err != nil || got.Left != want.Left || got.Next != want.Next || got.Tried != want.Tried || !slices.EqualFunc(got.Items, want.Items, sameItem) {
		t.Fatalf("took %+v, %v, want %+v", got, err, want)
	}
}

func sameItem(a, b eventq.Item) bool { return reflect.DeepEqual(a, b) }

// inFlight draws a batch in flight, or the id of one that is not.
func (h *modelTest) inFlight(t *rapid.T) string {
	batches := []string{h.terms.Game + "never"}
	for batch := range h.m.flights {
		batches = append(batches, batch)
	}
	slices.Sort(batches)
	return rapid.SampledFrom(batches).Draw(t, "batch")
}

func (h *modelTest) drawFinish(t *rapid.T) {
	r := eventq.BatchResult{Batch: h.inFlight(t), Now: h.now}
	f := h.m.flights[r.Batch]
	if f == nil {
		if _, ended := h.m.settled[r.Batch]; !ended {
			h.wantNotInFlight(r)
		}
		return
	}
	n := len(f.things)
	sent := rapid.IntRange(0, n).Draw(t, "sent")
	dropped := rapid.IntRange(0, n-sent).Draw(t, "dropped")
	back := f.things[sent+dropped:]
	retried := rapid.IntRange(0, min(len(back), h.terms.BatchSize)).Draw(t, "retried")
	r.Sent, r.Retry, r.Requeue = int64(sent), itemsOf(back[:retried]), itemsOf(back[retried:])
	if retried > 0 {
		h.calls++
		r.Tried = eventq.Tried{ID: fmt.Sprint("m", h.calls), Attempts: 1 + f.tried.Attempts}
	}
	r.Unused = rapid.IntRange(0, 1).Draw(t, "unused")
	if dropped > 0 {
		r.Dropped = dropCounts{rapid.SampledFrom(eventq.Reasons()).Draw(t, "reason"): int64(dropped)}
	}
	for _, one := range f.things[sent : sent+dropped] {
		if one.Unique {
			r.ForgetIDs = append(r.ForgetIDs, one.ID)
		}
	}
	if rapid.Bool().Draw(t, "failed") {
		r.Error, r.Pause = "why", rapid.IntRange(0, 5).Draw(t, "pause") == 0
		if ms := rapid.Int64Range(0, 6000).Draw(t, "cool"); ms > 0 {
			r.CoolUntil = h.now + ms
		}
	}
	h.m.finish(r)
	if err := h.Finish(h.Context(), h.terms, r); err != nil {
		t.Fatalf("finish %+v: %v", r, err)
	}
}

// finishAgain repeats results of batches that have ended.
func (h *modelTest) finishAgain(t *rapid.T) {
	for _, r := range h.m.settled {
		if err := h.Finish(h.Context(), h.terms, r); err != nil {
			t.Fatalf("finish %+v again: %v", r, err)
		}
		if len(r.Retry)+len(r.Requeue) > 0 {
			h.m.shrink()
		}
	}
}

func (h *modelTest) drawTime(t *rapid.T) {
	steps := []int64{-3000, -1, 1, 10, 400, 1000, 5000, eventq.DedupeWindowMS}
	h.now = max(epoch, h.now+rapid.SampledFrom(steps).Draw(t, "ms"))
}

func (h *modelTest) drawPause(t *rapid.T) {
	if rapid.IntRange(0, 2).Draw(t, "resume") == 0 {
		h.must(t, h.Pause(h.Context(), h.terms.Game, "why"))
		h.m.paused = true
		return
	}
	h.must(t, h.Resume(h.Context(), h.terms.Game, h.now))
	h.m.paused = false
	h.markFlushed()
}

func (h *modelTest) drawFlushNow(t *rapid.T) {
	h.must(t, h.FlushNow(h.Context(), h.terms.Game, h.now))
	h.markFlushed()
}

func (h *modelTest) markFlushed() { h.m.flushBefore, h.m.due = h.now, h.now }

func (h *modelTest) drawMaxLen(t *rapid.T) {
	h.m.bound = rapid.IntRange(0, 15).Draw(t, "bound")
	h.must(t, h.SetMaxLen(h.Context(), h.terms.Game, h.m.bound))
	if h.m.bound > 0 {
		h.m.shrink()
	}
}

func (h *modelTest) discard(t *rapid.T) {
	want := len(h.m.queue)
	h.m.dropOldest(want, eventq.Shutdown)
	n, err := h.Discard(h.Context(), h.terms.Game, eventq.Shutdown)
	if h.again.enabled.Load() {
		want = 0 // the second run finds nothing
	}
	if err != nil || n != int64(want) {
		t.Fatalf("discarded %d, %v, want %d", n, err, want)
	}
}

func (h *modelTest) drawMaintain(t *rapid.T) {
	h.m.maintain(h.now)
	h.must(t, h.Maintain(h.Context(), h.terms, h.now))
}

// loseQueue deletes the list, and runs the maintenance that notices it.
func (h *modelTest) loseQueue(t *rapid.T) {
	h.client.Del(h.Context(), h.keys.queue(h.terms.Game))
	h.m.vanish()
	if got := h.status().Counts; !reflect.DeepEqual(got, h.m.counts()) {
		t.Fatalf("counts %+v, want %+v", got, h.m.counts())
	}
	h.drawMaintain(t)
}

// flush makes the server forget its scripts.
func (h *modelTest) flush(t *rapid.T) { h.must(t, h.client.ScriptFlush(h.Context()).Err()) }

func (h *modelTest) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func (h *modelTest) check(t *rapid.T) {
	status, want := h.status(), h.m.counts()
	if !reflect.DeepEqual(status.Counts, want) {
		t.Fatalf("counts %+v, want %+v", status.Counts, want)
	}
	if want.Offered != want.Sent+lost(want)+want.Queued+want.InFlight {
		t.Fatalf("counts do not add up: %+v", want)
	}
	if status.DueAt != h.m.shownDue() || status.MaxLen != h.m.bound || (status.Paused != "") != h.m.paused {
		t.Fatalf("status %+v, due at %d", status, h.m.due)
	}
	items, err := h.Peek(h.Context(), h.terms.Game, 100)
	if err != nil || !slices.EqualFunc(items, itemsOf(h.m.queue), sameItem) {
		t.Fatalf("queued %+v, %v, want %+v", items, err, itemsOf(h.m.queue))
	}
	seen := h.client.ZRangeWithScores(h.Context(), h.keys.seen(h.terms.Game), 0, -1).Val()
	if len(seen) != len(h.m.seen) {
		t.Fatalf("remembered %v, want %v", seen, h.m.seen)
	}
}
