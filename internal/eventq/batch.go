package eventq

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// batch holds items that this node has taken from the queue of a game. They leave
// as messages of at most Policy.BatchSize items. One goroutine at a time works on
// a batch.
type batch struct {
	game    *game
	takenAt time.Time // of the first call to take it: the lease begins no earlier

	items  []Item      // of the current message, without an answer
	tried  Tried       // the current message
	rest   []Item      // behind it
	number int         // of the current message in the batch, from 1 on
	result BatchResult // what became of the other items
}

// nextMessage makes the next items the current ones, and reports whether there
// are any.
func (b *batch) nextMessage() bool {
	n := min(len(b.rest), b.game.BatchSize)
	b.items, b.rest = b.rest[:n:n], b.rest[n:]
	if b.number++; b.number > 1 || b.tried.ID == "" {
		b.tried = Tried{ID: b.result.Batch + "-" + strconv.Itoa(b.number)}
	}
	return n > 0
}

// dropStale drops the items that must not be sent.
func (b *batch) dropStale(now int64) {
	b.items = slices.DeleteFunc(b.items, func(item Item) bool {
		reason := b.game.staleReason(item, now)
		if reason != "" {
			b.drop(item, reason)
		}
		return reason != ""
	})
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

// requeue sends the current message and all items behind it back to the queue.
func (b *batch) requeue() {
	if b.tried.Attempts > 0 {
		b.result.Retry, b.result.Tried = b.items, b.tried
	} else {
		b.result.Requeue = b.items
	}
	b.result.Requeue = append(b.result.Requeue, b.rest...)
	b.items, b.rest = nil, nil
}

// applyOutcome applies the answer to an attempt, and reports whether the attempt was
// good.
func (b *batch) applyOutcome(o Outcome, now int64) (good bool) {
	cool, items := o.RetryAfter, len(b.items)
	good = true
	var left []Item
	for i, item := range b.items {
		switch o.deliveryOf(i, items) {
		case Delivered:
			b.result.Sent++
		case Refused:
			b.drop(item, Rejected)
		case Forbidden:
			b.drop(item, Unauthorized)
			cool, good = max(cool, forbiddenPause), false
		default:
			left, good = append(left, item), false
		}
	}
	if b.items = left; len(left) > 0 && b.tried.Attempts >= maxAttempts && !o.Pause {
		for _, item := range left {
			b.drop(item, RetriesExhausted)
		}
		b.items = nil
	} else if len(left) > 0 {
		if len(left) < items {
			b.tried.ID += "-" + strconv.Itoa(b.tried.Attempts) // the receiver has answered the old id
		}
		cool = max(cool, backoff(b.tried.Attempts))
	}
	b.end(o, cool, now)
	return good
}

// end records a failure for operators. It ends the batch if the game must pause or
// cool down.
func (b *batch) end(o Outcome, cool time.Duration, now int64) {
	stops := cool > 0 || o.Pause
	if o.Err != nil {
		b.result.Error = o.Err.Error()
	} else if stops {
		b.result.Error = o.Code
	}
	if stops {
		b.result.Pause, b.result.CoolUntil = o.Pause, now+cool.Milliseconds()
		b.requeue()
	}
}

// deliveryOf returns what the receiver did with item i.
func (o Outcome) deliveryOf(i, items int) Delivery {
	if len(o.Items) == items {
		return o.Items[i]
	}
	return o.Delivery
}

const (
	maxAttempts    = 8
	firstBackoff   = 500 * time.Millisecond
	maxBackoff     = 30 * time.Second
	forbiddenPause = time.Minute // no attempt of a game whose keys or rights are wrong
)

// backoff returns a random wait up to a bound that doubles with each attempt
// ("full jitter"), so that games do not come back together. Example: the bounds
// are 0.5, 1, 2, 4 s, and so on up to 30 s.
func backoff(tries int) time.Duration {
	bound := min(firstBackoff<<min(tries-1, 10), maxBackoff)
	return 1 + rand.N(bound) //nolint:gosec // a wait is no secret
}
