package eventq

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrFull says that the queue is full, and the game has posts refused then.
	ErrFull = errors.New("the queue of behaviours is full")
	// ErrGone says that a batch is not in flight any more: its lease has ended, or
	// it was settled.
	ErrNotInFlight = errors.New("the batch is not in flight")
)

// Queue keeps the queues of games, and counts in the same step as it moves. A
// game is in a partition, whose queues and index of due games change together.
// Instants are cluster time, epoch ms. Every call may be repeated with the same
// id, by the store's client as well: it then changes nothing and gives the same.
// Safe for concurrent use.
type Queue interface {
	Partitions() int
	Partition(game string) int

	// Push puts items at the end of a game's queue, all in one step, bounds it,
	// marks when it is due, and has it vanish when nothing is pushed and taken for
	// long. With ErrFull nothing has changed.
	Push(ctx context.Context, t Policy, p Push) (PushResult, error)
	// PushAll makes pushes From one process to several games of a partition, of
	// items that are not Once and nothing else, as far as it can in one step; what
	// it could not is left alone, and Queued as nothing.
	PushAll(ctx context.Context, all []GamePush) ([]PushResult, error)
	// Due gives games of a partition with a due batch, the earliest first, and when
	// the next of the others is due, 0 where none is.
	Due(ctx context.Context, partition int, now int64, limit int) (games []string, next int64, err error)
	// Take moves the oldest items in flight, unless the game is paused, cools down,
	// or has no try left just now: several batches where that many are full and
	// have a try each, or else one.
	Take(ctx context.Context, t Policy, take Take) (TakeResult, error)
	// Permit lets a batch in flight be tried again, which takes a try of the rate,
	// or says how long to wait before asking again. Either way it renews the lease.
	// ErrGone: it must not be sent.
	Acquire(ctx context.Context, t Policy, r Renewal) (wait time.Duration, err error)
	// Settle ends a batch. ErrGone: nothing has changed.
	Finish(ctx context.Context, t Policy, s BatchResult) error
	// SettleSent ends batches of a game all of whose items have been sent. ErrGone:
	// one of them is not in flight, and nothing has changed.
	FinishSent(ctx context.Context, t Policy, all []BatchResult) error
	// Fault notes that a try failed; no try of the game begins before until, where
	// that is not 0.
	RecordFailure(ctx context.Context, game, why string, now, until int64) error
	// Reap counts the batches of a partition as NodeLost whose lease has ended.
	Reap(ctx context.Context, partition int, now int64) (items int64, err error)
	// Keep makes a queue what it should be by its terms: shrinks it to its bound,
	// counts as Expired what has vanished, marks it due where that was lost.
	Maintain(ctx context.Context, t Policy, now int64) error
}

// Push is what is put into a queue. Refused are those that were dropped at the
// door, to be counted with it: they count as offered, the items do too.
type Push struct {
	ID      string // of this push, for repeats
	From    string // a process that makes no push to a game before the last was answered, with IDs that sort as they were made; "": any
	Items   []Item // at most MaxPush, all of them Once, or MaxOwnPush, none
	Posted  bool   // whoever posts can be told: ErrFull where the game has that
	Refused map[Reason]int64
	Now     int64
}

// GamePush is a push to one of several games.
type GamePush struct {
	Policy Policy
	Push   Push
}

// MaxPush and MaxOwnPush are the most items of a push, and of one of such as are
// not Once, which cost less.
const (
	MaxPush    = 1000
	MaxOwnPush = 4000
)

// Pushed is what became of a push's items; with DropOldest older items may have
// been dropped for them.
type PushResult struct {
	Queued  int              // of the items
	Dropped map[Reason]int64 // of the items: QueueFull, Duplicate
	Length  int              // of the queue, after it
}

// Take takes batches for a node.
type Take struct {
	Batches []string // their ids, new, for as many at the most
	Node    string
	Pool    string // in which the game is reported, to be shown
	Now     int64
	Lease   int64 // how long they may stay in flight, ms
}

// Taken are batches, one after the other: only the last may not be full. There
// are no items where there was none to take.
type TakeResult struct {
	Items []Item
	Left  int   // in the queue
	Next  int64 // when the game may be taken from again; 0: when more is pushed, or it is resumed
}

// Renewal is a wish to try a batch again.
type Renewal struct {
	Batch     string
	Now       int64
	Lease     int64 // ms from now
	LeaseOnly bool  // the lease: no try is meant yet, so none is taken of the rate
}

// Settlement is what became of a batch: all of its items are Sent, Dropped or
// given Back.
type BatchResult struct {
	Batch     string
	Sent      int64
	Dropped   map[Reason]int64
	ForgetIDs []string // ids of dropped items that were to be taken once: they may come again
	Requeue   []Item   // not sent, to the head of the queue, in order
	Unused    bool     // no try was made: it is given back too
	Now       int64
}

// Desk is what operators see of the queues, and do with them.
type Admin interface {
	// Status gives the games that it is asked for, in that order.
	Status(ctx context.Context, games []string, now int64) ([]Status, error)
	// Totals count all games.
	Totals(ctx context.Context) (Counts, error)
	// Peek gives the oldest items of a queue, and leaves them there.
	Peek(ctx context.Context, game string, limit int) ([]Item, error)
	// Pause has nothing taken from a game until Resume; why is shown.
	Pause(ctx context.Context, game, why string) error
	Resume(ctx context.Context, game string, now int64) error
	// Bound sets a bound for a game at all nodes, at once, and drops the oldest
	// beyond it; 0: as configured again.
	SetMaxLen(ctx context.Context, game string, maxLen int) error
	// Hurry makes what is queued due now.
	FlushNow(ctx context.Context, game string, now int64) error
	// Discard drops the oldest items, at most so many, for a reason.
	Discard(ctx context.Context, game string, most int, r Reason) (dropped int64, err error)
}

// Status is the state of a game's queue.
type Status struct {
	Game      string `json:"game"`
	Counts    Counts `json:"counts"`
	MaxLen    int    `json:"max_len,omitempty"`   // that an operator has set
	OldestAt  int64  `json:"oldest_at,omitempty"` // when its oldest item was queued
	DueAt     int64  `json:"due_at,omitempty"`
	CoolUntil int64  `json:"retry_at,omitempty"` // no try before
	Pool      string `json:"worker_pool,omitempty"`
	Paused    string `json:"paused_reason,omitempty"` // "": the queue is not paused
	Error     string `json:"last_error,omitempty"`
	ErrorAt   int64  `json:"last_error_at,omitempty"`
}

// Nodes says who shares the work.
type Nodes interface {
	// Beat notes that a node lives, and gives all that have said so within NodeMS,
	// sorted.
	Heartbeat(ctx context.Context, node string, now int64) (alive []string, err error)
	// Bye takes a node out at once.
	Leave(ctx context.Context, node string) error
}

// NodeMS is how long a node counts as alive after a beat.
const NodeTTLMS = 3000
