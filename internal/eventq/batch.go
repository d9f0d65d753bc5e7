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
	game  *game
	id    string // in the queue
	taken int64  // cluster time
	began time.Time

	mu         sync.Mutex
	sendID     string     // to the far side: a new one once a part was answered
	items      []Item     // without an answer
	settlement Settlement // what became of the others
	tries      int
	weight     int       // items as counted among those that wait
	doubtful   bool      // nobody knows whether it was taken
	waits      bool      // in its partition's list
	called     bool      // in the slow lane, to be retried
	closed     bool      // nothing is left but to settle it
	over       bool      // settled, or gone
	tryAt      time.Time // no retry before
	renewAt    time.Time // the lease
}

// newBatch makes one that is taken now.
func newBatch(g *game, id string, taken int64) *batch {
	return &batch{game: g, id: id, sendID: id, taken: taken, began: time.Now(), settlement: Settlement{Batch: id}}
}

// now is cluster time, but never runs back while the batch is here, so that
// nothing becomes fresh again.
func (b *batch) now(cluster int64) int64 {
	return max(cluster, b.taken+time.Since(b.began).Milliseconds())
}

// dropStale drops the items that must not be sent.
func (b *batch) dropStale(now int64) {
	if !slices.ContainsFunc(b.items, func(i Item) bool { return b.game.stale(i, now) != "" }) {
		return
	}
	var fresh []Item
	for _, item := range b.items {
		if reason := b.game.stale(item, now); reason != "" {
			b.drop(item, reason)
			continue
		}
		fresh = append(fresh, item)
	}
	b.items = fresh
}

// stale says why an item must not be sent now, or "". One from the future was
// queued before the clock jumped back, and nobody knows how old it is.
func (g *game) stale(item Item, now int64) Reason {
	switch {
	case max(item.At, item.QueuedAt) > now+AheadMS:
		return Future
	case max(now, item.QueuedAt)-item.At > g.MaxAgeMS:
		return TooOld
	}
	return ""
}

func (b *batch) drop(item Item, reason Reason) {
	if b.settlement.Dropped == nil {
		b.settlement.Dropped = map[Reason]int64{}
	}
	b.settlement.Dropped[reason]++
	if item.Once {
		b.settlement.Forget = append(b.settlement.Forget, item.ID)
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
func (b *batch) giveBack() {
	if !b.closed {
		b.settlement.Back, b.items = b.items, nil
	}
}

func (b *batch) goesBack() bool { return len(b.settlement.Back) > 0 }

func (b *batch) sentWhole() bool {
	return b.settlement.Sent > 0 && b.settlement.Dropped == nil && !b.goesBack()
}

// answer takes note of an answer; barred says that the game has no right to send.
func (b *batch) answer(o Outcome) (barred bool) {
	var again []Item
	for i, item := range b.items {
		switch o.of(i, len(b.items)) {
		case Arrived:
			b.settlement.Sent++
		case Refused:
			b.drop(item, Rejected)
		case Barred:
			b.drop(item, Unauthorized)
			barred = true
		default:
			again = append(again, item)
		}
	}
	if len(again) < len(b.items) {
		b.sendID = b.id + "-" + strconv.Itoa(b.tries)
	}
	b.items = again
	return barred
}

// of is the fate of one of so many items.
func (o Outcome) of(i, items int) Fate {
	if len(o.Items) == items {
		return o.Items[i]
	}
	return o.Fate
}

const (
	firstWait = 500 * time.Millisecond
	maxWait   = 30 * time.Second
)

// backoff is how long to wait after so many tries: anything up to a bound that
// doubles (full jitter), so that batches do not come back all at once.
func backoff(tries int) time.Duration {
	bound := min(firstWait<<min(tries-1, 10), maxWait)
	return rand.N(bound) //nolint:gosec // a wait is no secret
}
