package eventq

import (
	"context"
	"time"
)

// Sink reports the behaviours of one game. Safe for concurrent use.
type Sink interface {
	// Check says why a behaviour can never be reported; it is dropped as Invalid.
	Check(b Behaviour) error
	// Send tries once to report a batch, and gives up when ctx ends. It does not
	// retry by itself.
	Send(ctx context.Context, b Batch) Outcome
	Close() error
}

// Batch is up to MaxBatch items of one game. Its id stays over retries as long
// as no part of it has been answered.
type Batch struct {
	ID    string
	Game  string
	Items []Item
	Now   int64 // cluster time, epoch ms: of this try
}

// Fate is what the far side did with an item.
type Delivery int

// The fates.
const (
	TryAgain  Delivery = iota // not taken: worth another try
	Delivered                 // taken
	Refused                   // for good: dropped as Rejected
	Forbidden                 // the game's keys or rights are at fault: dropped as Unauthorized
)

// Outcome is the answer to a batch.
type Outcome struct {
	Delivery   Delivery
	Items      []Delivery    // of each item, where they differ; nil: all have Fate
	RetryAfter time.Duration // no try of the game sooner: a ban, Retry-After
	Pause      bool          // the far side wants no more: pause the game
	Code       string        // of the answer, of a small set: "200", "timeout", "1006"
	Err        error         // why it was not taken, whole or in part; never with personal data or keys
}
