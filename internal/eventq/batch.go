package eventq

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// step is what a batch does next. A batch that waits repeats its step.
type step int

const (
	stepTake   step = iota // the outcome of its take is unknown
	stepSend               // it has items to send
	stepFinish             // only the report of its result is missing
	stepNone               // it has ended
)

// batch holds items that this node has taken from the queue of a game. They leave
// as messages of at most Policy.BatchSize items. One goroutine at a time works on
// a batch.
type batch struct {
	game      *game
	id        string // in the queue
	takenAt   int64  // cluster time, epoch ms
	startedAt time.Time

	step     step
	items    []Item      // of the current message, without an answer
	rest     []Item      // behind them
	result   BatchResult // what became of the other items
	attempts int         // to send the current message
	answered int         // answers that decided about items

	isBusy       atomic.Bool // whether a goroutine makes its next step
	isWaiting    bool        // whether it is in the list of its partition
	waitingItems int         // items as counted in sender.waitingItems
	retryAt      time.Time   // no next step before
	renewAt      time.Time   // when to renew the lease
}

// newBatch returns a batch that is taken now.
func newBatch(g *game, id string, taken int64) *batch {
	return &batch{game: g, id: id, takenAt: taken, startedAt: time.Now(), result: BatchResult{Batch: id}}
}

// sendID is the id for the receiver. It changes after a part was answered.
func (b *batch) sendID() string {
	if b.answered == 0 {
		return b.id
	}
	return b.id + "-" + strconv.Itoa(b.answered)
}

// nextMessage makes the next items the current ones.
func (b *batch) nextMessage() {
	n := min(len(b.rest), b.game.BatchSize)
	b.items, b.rest, b.attempts = b.rest[:n:n], b.rest[n:], 0
}

// nextStepAt returns when a waiting batch needs its next step, or a longer lease.
func (b *batch) nextStepAt() time.Time {
	if b.step == stepSend && b.renewAt.Before(b.retryAt) {
		return b.renewAt
	}
	return b.retryAt
}

// now returns cluster time that never goes back for this batch. Otherwise an
// old item could become fresh again.
func (b *batch) now(cluster int64) int64 {
	return max(cluster, b.takenAt+time.Since(b.startedAt).Milliseconds())
}

// dropStale drops the items that must not be sent.
func (b *batch) dropStale(now int64) {
	if !slices.ContainsFunc(b.items, func(i Item) bool { return b.game.staleReason(i, now) != "" }) {
		return
	}
	var fresh []Item
	for _, item := range b.items {
		if reason := b.game.staleReason(item, now); reason != "" {
			b.drop(item, reason)
			continue
		}
		fresh = append(fresh, item)
	}
	b.items = fresh
}

// isStale drops the items that must not be sent, and reports whether none is left.
func (b *batch) isStale(now int64) bool {
	b.dropStale(now)
	return len(b.items) == 0
}

// staleReason returns why an item must not be sent now, or "". An item from the
// future was queued before the clock was set back. Its age is unknown.
func (g *game) staleReason(item Item, now int64) Reason {
	switch {
	case max(item.At, item.QueuedAt) > now+MaxAheadMS:
		return Future
	case max(now, item.QueuedAt)-item.At > g.MaxAgeMS:
		return TooOld
	}
	return ""
}

func (b *batch) drop(item Item, reason Reason) {
	if b.result.Dropped == nil {
		b.result.Dropped = map[Reason]int64{}
	}
	b.result.Dropped[reason]++
	if item.Unique {
		b.result.ForgetIDs = append(b.result.ForgetIDs, item.ID)
	}
}

// dropAll drops the remaining items.
func (b *batch) dropAll(reason Reason) {
	for _, item := range b.items {
		b.drop(item, reason)
	}
	b.items = nil
}

// requeue marks all remaining items to go back to the queue.
func (b *batch) requeue() {
	b.unuse()
	b.result.Requeue, b.items = append(b.items, b.result.Requeue...), nil
	b.requeueRest()
}

// requeueRest marks the items behind the current message to go back.
func (b *batch) requeueRest() {
	b.result.Requeue = append(b.result.Requeue, b.rest...)
	b.result.Unused += (len(b.rest) + b.game.BatchSize - 1) / b.game.BatchSize
	b.rest = nil
}

// unuse notes that the current message does not count against the rate, unless
// an attempt was made.
func (b *batch) unuse() {
	if b.attempts == 0 {
		b.result.Unused++
	}
}

// applyOutcome applies an answer to the items. It reports whether the receiver
// refused the game's right to send.
func (b *batch) applyOutcome(o Outcome) (isForbidden bool) {
	var again []Item
	for i, item := range b.items {
		switch o.deliveryOf(i, len(b.items)) {
		case Delivered:
			b.result.Sent++
		case Refused:
			b.drop(item, Rejected)
		case Forbidden:
			b.drop(item, Unauthorized)
			isForbidden = true
		default:
			again = append(again, item)
		}
	}
	if len(again) < len(b.items) {
		b.answered++
	}
	b.items = again
	return isForbidden
}

// deliveryOf returns what the receiver did with item i.
func (o Outcome) deliveryOf(i, items int) Delivery {
	if len(o.Items) == items {
		return o.Items[i]
	}
	return o.Delivery
}

const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// backoff returns a random wait up to a bound that doubles with each attempt
// ("full jitter"), so that batches do not come back together. Example: the
// bounds are 0.5, 1, 2, 4 s, and so on up to 30 s.
func backoff(tries int) time.Duration {
	bound := min(firstBackoff<<min(tries-1, 10), maxBackoff)
	return rand.N(bound) //nolint:gosec // a wait is no secret
}
