package eventq

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"
)

// batch is a group of items of one game that this node has taken. Callers lock
// mu. Before the batch waits, only its worker knows it.
type batch struct {
	game      *game
	id        string // in the queue
	takenAt   int64  // cluster time, epoch ms
	startedAt time.Time

	mu               sync.Mutex
	sendID           string      // for the receiver: a new id after a part was answered
	items            []Item      // items without an answer
	result           BatchResult // what became of the other items
	attempts         int
	waitingItems     int       // items as counted in Service.waitingItems
	isOutcomeUnknown bool      // whether it is unknown if the take succeeded
	isWaiting        bool      // whether it is in the list of its partition
	isQueued         bool      // whether it waits in the slow pool for a retry
	isClosed         bool      // whether only the report of its result is missing
	isFinished       bool      // whether the store knows its result, or it is lost
	retryAt          time.Time // no attempt before
	renewAt          time.Time // when to renew the lease
}

// newBatch returns a batch that was taken now.
func newBatch(g *game, id string, taken int64) *batch {
	return &batch{game: g, id: id, sendID: id, takenAt: taken, startedAt: time.Now(), result: BatchResult{Batch: id}}
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

// requeue marks the remaining items to go back to the queue.
func (b *batch) requeue() {
	if !b.isClosed {
		b.result.Requeue, b.items = b.items, nil
	}
}

func (b *batch) isRequeued() bool { return len(b.result.Requeue) > 0 }

func (b *batch) isFullySent() bool {
	return b.result.Sent > 0 && b.result.Dropped == nil && !b.isRequeued()
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
		b.sendID = b.id + "-" + strconv.Itoa(b.attempts)
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
