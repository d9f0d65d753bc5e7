package eventq

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"
)

// A batch is items of a game that this node has taken. Whoever deals with it
// has locked it; before it waits, only its worker knows it.
type batch struct {
	game      *game
	id        string // in the queue
	takenAt   int64  // cluster time
	startedAt time.Time

	mu               sync.Mutex
	sendID           string      // to the far side: a new one once a part was answered
	items            []Item      // without an answer
	result           BatchResult // what became of the others
	attempts         int
	waitingItems     int       // items as counted among those that wait
	isOutcomeUnknown bool      // nobody knows whether it was taken
	isWaiting        bool      // in its partition's list
	isQueued         bool      // in the slow lane, to be retried
	isClosed         bool      // nothing is left but to settle it
	isFinished       bool      // settled, or gone
	retryAt          time.Time // no retry before
	renewAt          time.Time // the lease
}

// newBatch makes one that is taken now.
func newBatch(g *game, id string, taken int64) *batch {
	return &batch{game: g, id: id, sendID: id, takenAt: taken, startedAt: time.Now(), result: BatchResult{Batch: id}}
}

// now is cluster time, but never runs back while the batch is here, so that
// nothing becomes fresh again.
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

// stale says why an item must not be sent now, or "". One from the future was
// queued before the clock jumped back, and nobody knows how old it is.
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

// dropAll drops what is left.
func (b *batch) dropAll(reason Reason) {
	for _, item := range b.items {
		b.drop(item, reason)
	}
	b.items = nil
}

// giveBack returns what is left to the queue.
func (b *batch) requeue() {
	if !b.isClosed {
		b.result.Requeue, b.items = b.items, nil
	}
}

func (b *batch) isRequeued() bool { return len(b.result.Requeue) > 0 }

func (b *batch) isFullySent() bool {
	return b.result.Sent > 0 && b.result.Dropped == nil && !b.isRequeued()
}

// answer takes note of an answer; barred says that the game has no right to send.
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

// of is the fate of one of so many items.
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

// backoff is how long to wait after so many tries: anything up to a bound that
// doubles (full jitter), so that batches do not come back all at once.
func backoff(tries int) time.Duration {
	bound := min(firstBackoff<<min(tries-1, 10), maxBackoff)
	return rand.N(bound) //nolint:gosec // a wait is no secret
}
