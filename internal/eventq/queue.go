package eventq

import (
	"context"
	"errors"
)

var (
	// ErrFull says that the queue has no room, also for more ids, and the game's
	// policy refuses such posts. Nothing has changed.
	ErrFull = errors.New("the queue of behaviours is full")
	// ErrNotInFlight says that a batch is not in flight: its lease has ended,
	// or it is finished.
	ErrNotInFlight = errors.New("the batch is not in flight")
)

// Queue stores the queues of all games. Each move of items updates the counts
// in the same step. Each game belongs to a partition, whose queues change
// together with its index of due games. Times are cluster time, epoch ms. Every
// call can be repeated with the same ids, also by the client of the store: it
// then changes nothing and returns the same. It is safe for concurrent use.
type Queue interface {
	Partitions() int
	Partition(game string) int

	// Push appends items to the queue of a game. It enforces the length limit and
	// marks when the queue is due. The queue expires if it is not used for long.
	// ErrFull means that nothing has changed.
	Push(ctx context.Context, policy Policy, p Push) (PushResult, error)
	// Due returns due games of a partition, the earliest first. A game is due if a batch can
	// be taken, or a lease has ended. The time next is that of the first other game, or 0.
	Due(ctx context.Context, partition int, now int64, limit int) (games []string, next int64, err error)
	// Take moves the oldest items in flight as one batch, unless the game is
	// paused, cools down or has reached its rate limit. A message that was tried
	// before is a batch of its own, with its id and attempts. Other batches have
	// several messages if they are full and the rate allows it, else one.
	Take(ctx context.Context, policy Policy, take Take) (TakeResult, error)
	// Finish ends a batch. ErrNotInFlight means that nothing has changed.
	Finish(ctx context.Context, policy Policy, r BatchResult) error
	// Maintain applies the policy to a queue: it drops stale items, enforces the length
	// limit, counts vanished items as Expired, and batches whose lease has ended as
	// NodeLost. It repairs a lost due mark.
	Maintain(ctx context.Context, policy Policy, now int64) error
}

// Push holds items to append to a queue. Refused counts items that the caller
// dropped before the push. They count as offered, like Items.
type Push struct {
	ID      string // of this push, to recognize repeats
	From    string // the producer: it sends one push at a time per game, with ascending IDs; "": no order is guaranteed
	Items   []Item // all unique and at most MaxPush, or none unique and at most MaxOwnPush
	Posted  bool   // the caller can handle ErrFull
	Refused map[Reason]int64
	Now     int64
}

// MaxPush is the largest number of unique items in a push. MaxOwnPush is the
// limit for items that are not unique. It is higher because they cost less.
const (
	MaxPush    = 1000
	MaxOwnPush = 4000
)

// PushResult says what became of the items of a push. With DropOldest the push
// may have dropped older items.
type PushResult struct {
	Queued  int              // of the items
	Dropped map[Reason]int64 // of the items: QueueFull, Duplicate
	Length  int              // of the queue after the push
}

// Take takes a batch.
type Take struct {
	Batch    string // a new id
	Messages int    // of Policy.BatchSize items, at most
	Now      int64
	Lease    int64 // how long the batch may stay in flight, ms
}

// TakeResult has the items of the batch in order. There are none if nothing could
// be taken.
type TakeResult struct {
	Items []Item
	Tried Tried // of the items, if they are a message that was tried before
	Left  int   // items left in the queue
	Next  int64 // when to take again; 0: after the next push or resume
}

// Tried is what a message keeps in the queue between its attempts.
type Tried struct {
	ID       string // of the message, for the receiver; "": the message was not tried
	Attempts int
}

// BatchResult says what became of a batch. Each of its items is sent, dropped,
// retried or requeued. The last two go to the head of the queue, in this order.
type BatchResult struct {
	Batch     string
	Sent      int64
	Dropped   map[Reason]int64
	ForgetIDs []string // ids of dropped unique items: the queue may accept them again
	Retry     []Item   // a message for another attempt
	Tried     Tried    // of that message
	Requeue   []Item   // items that were not tried, in order
	Unused    int      // messages without an attempt, which do not count against the rate
	Error     string   // why the last attempt failed, for operators; "": none failed
	CoolUntil int64    // no attempt of the game begins before; 0: no cool-down
	Pause     bool     // whether to pause the game because of the error
	Now       int64
}

// Admin is what operators see of the queues and do with them.
type Admin interface {
	// Status returns the status of the given games, in their order.
	Status(ctx context.Context, games []string, now int64) ([]Status, error)
	// Peek returns the oldest items of a queue and leaves them there.
	Peek(ctx context.Context, game string, limit int) ([]Item, error)
	// Pause stops taking from a queue until Resume. Status shows the reason.
	Pause(ctx context.Context, game, why string) error
	Resume(ctx context.Context, game string, now int64) error
	// SetMaxLen sets the length limit of a game at all nodes, and drops the
	// oldest items above it; 0 restores the configured limit.
	SetMaxLen(ctx context.Context, game string, maxLen int) error
	// FlushNow makes due what is queued.
	FlushNow(ctx context.Context, game string, now int64) error
	// Discard drops all items of a queue, and counts them under the reason.
	Discard(ctx context.Context, game string, r Reason) (dropped int64, err error)
}

// Status is the state of a game's queue.
type Status struct {
	Game      string `json:"game"`
	Counts    Counts `json:"counts"`
	MaxLen    int    `json:"max_len,omitempty"`   // that an operator has set
	OldestAt  int64  `json:"oldest_at,omitempty"` // when its oldest item was queued
	DueAt     int64  `json:"due_at,omitempty"`
	CoolUntil int64  `json:"retry_at,omitempty"`      // no attempt before
	Paused    string `json:"paused_reason,omitempty"` // "": the queue is not paused
	Error     string `json:"last_error,omitempty"`
	ErrorAt   int64  `json:"last_error_at,omitempty"`
}

// Nodes records which nodes share the work, and the sessions of players at each, so that
// another node can report their end if the node dies. Callers may repeat every call.
type Nodes interface {
	// Heartbeat records that a node is alive. It returns when each node was last seen.
	Heartbeat(ctx context.Context, node string, now int64) (seen map[string]int64, err error)
	// SyncSessions adds sessions that started at a node, and then removes those that have
	// ended. The store forgets the sessions of a node without a heartbeat for an hour.
	SyncSessions(ctx context.Context, node string, changes []SessionRecord) error
	// Sessions returns sessions of a dead node, at most limit; none if it was seen again. One
	// that is unreadable has only its id. If there are none, the store forgets the node.
	Sessions(ctx context.Context, node string, seenAt int64, limit int) ([]SessionRecord, error)
}

// SessionRecord is a stored session of a player: the stay at a node, from the online
// to the offline.
type SessionRecord struct {
	Game    string    `json:"game"`
	Session string    `json:"session"`
	Offline Behaviour `json:"offline"` // reported at its end; At is when it was last seen
	Ended   bool      `json:"-"`       // SyncSessions removes the session
}
