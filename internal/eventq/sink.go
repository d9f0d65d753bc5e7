package eventq

import (
	"context"
	"time"
)

// Sink reports the behaviours of one game. It is safe for concurrent use.
type Sink interface {
	// Check returns an error for a behaviour that the sink can never report. It
	// is dropped as Invalid.
	Check(b Behaviour) error
	// Send makes one attempt to report a batch. It gives up when ctx ends, and
	// does not retry.
	Send(ctx context.Context, b Batch) Outcome
	Close() error
}

// Batch has up to MaxBatch items of one game. Its id is the same over retries,
// until a part of it is answered.
type Batch struct {
	ID    string
	Game  string
	Items []Item
	Now   int64 // cluster time of this attempt, epoch ms
}

// Delivery is what the receiver did with an item.
type Delivery int

// The values of Delivery.
const (
	TryAgain  Delivery = iota // not accepted: worth another attempt
	Delivered                 // accepted
	Refused                   // refused for good: dropped as Rejected
	Forbidden                 // the game's keys or rights are wrong: dropped as Unauthorized
)

// Outcome is the answer to a batch.
type Outcome struct {
	Delivery   Delivery
	Items      []Delivery    // of each item if they differ; nil: all have Delivery
	RetryAfter time.Duration // no attempt of the game sooner, for example after a ban
	Pause      bool          // the receiver wants no more: pause the game
	Code       string        // of the answer, from a small set: "200", "timeout", "1006"
	Err        error         // why the batch was not fully accepted; without personal data and keys
}
