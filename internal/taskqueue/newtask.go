package taskqueue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"laststand/internal/timer"
)

// Limits of new tasks.
const (
	MaxPayloadBytes = 64 << 10
	MaxNameBytes    = 200  // bytes of a game, a topic and a key
	MaxPriority     = 7    // priorities are 0 to 7; each has twice the share of the next lower one
	MaxTriesLimit   = 1000 // highest MaxTries
	MaxBatch        = 1000 // tasks per call of the store

	defaultTries   = 20                  // MaxTries of a task that sets none
	maxEpochMillis = 253_402_300_799_999 // the end of the year 9999; a larger number is not in ms
)

// ErrBadTask means that the queue can never accept a task, because the task is
// invalid.
var ErrBadTask = errors.New("the task cannot be enqueued")

// NewTask is a task to enqueue. Its JSON form is that of a game's services; the tag need
// is of package protocol.
type NewTask struct {
	Game      string          `json:"-"`
	Topic     string          `json:"topic" need:"true"` // for example webhook/demo/1; the part before the first / is the kind
	Key       string          `json:"key" need:"true"`   // only one task per game, topic and key is accepted
	Priority  int64           `json:"priority"`          // 0 to MaxPriority, the highest
	Ordering  Ordering        `json:"ordering"`
	NotBefore int64           `json:"not_before"` // when the task joins its queue, epoch ms; 0: now
	MaxTries  int64           `json:"max_tries"`  // attempts before the task is dead; 0: 20
	Payload   json.RawMessage `json:"payload" need:"true"`
}

// Accepted is the stored task of a call of Enqueue. For a known key it is the
// first task with that key.
type Accepted struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	New   bool   `json:"new"` // false: a task with this key existed
}

// Kind returns the kind of a topic: its part before the first slash.
func Kind(topic string) string {
	kind, _, _ := strings.Cut(topic, "/")
	return kind
}

// Check returns ErrBadTask for a task that no store would accept.
func (n *NewTask) Check() error {
	switch {
	case isBadName(n.Game, true), isBadName(n.Topic, false), isBadName(n.Key, false), Kind(n.Topic) == "":
		return fmt.Errorf("%w: game %q, topic %q and key %q are 1 to %d printable bytes without spaces; the game may be empty", ErrBadTask, n.Game, n.Topic, n.Key, MaxNameBytes)
	case n.Priority < 0 || n.Priority > MaxPriority:
		return fmt.Errorf("%w: priority %d: want 0 to %d", ErrBadTask, n.Priority, MaxPriority)
	case n.Ordering != Unordered && n.Ordering != Ordered && n.Ordering != OrderedPausing:
		return fmt.Errorf("%w: ordering %q: want %q, %q or none", ErrBadTask, n.Ordering, Ordered, OrderedPausing)
	case n.MaxTries < 0 || n.MaxTries > MaxTriesLimit:
		return fmt.Errorf("%w: %d tries: want up to %d", ErrBadTask, n.MaxTries, MaxTriesLimit)
	case n.NotBefore < 0 || n.NotBefore > maxEpochMillis:
		return fmt.Errorf("%w: not before %d: want an instant in epoch ms, up to %d", ErrBadTask, n.NotBefore, int64(maxEpochMillis))
	}
	return checkPayload(n.Payload)
}

func checkPayload(payload json.RawMessage) error {
	switch {
	case len(payload) > MaxPayloadBytes:
		return fmt.Errorf("%w: a payload of %d bytes: want up to %d", ErrBadTask, len(payload), MaxPayloadBytes)
	case !utf8.Valid(payload) || !json.Valid(payload):
		return fmt.Errorf("%w: the payload is not valid JSON", ErrBadTask)
	case string(bytes.TrimSpace(payload)) == "null":
		return fmt.Errorf("%w: the payload is null; send a value", ErrBadTask)
	}
	return nil
}

// isBadName reports whether a name is too long, or contains anything but
// printable ASCII without spaces.
func isBadName(name string, mayBeEmpty bool) bool {
	return name == "" && !mayBeEmpty || len(name) > MaxNameBytes || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' })
}

// Task returns the new task in its first state: delayed if NotBefore is after
// now (epoch ms), else waiting. It has no id yet.
func (n *NewTask) Task(now int64) Task {
	t := Task{
		Game: n.Game, Topic: n.Topic, Key: n.Key, Priority: n.Priority, Ordering: n.Ordering,
		State: StateWaiting, MaxTries: n.MaxTries, Payload: n.Payload,
	}
	if t.MaxTries == 0 {
		t.MaxTries = defaultTries
	}
	if n.NotBefore > now {
		t.State, t.DueAt = StateLater, n.NotBefore
	}
	return t
}

// Enqueuer stores new tasks in one commit: all or none. The result has one
// element per task, in the same order.
type Enqueuer interface {
	Enqueue(ctx context.Context, tasks []NewTask) ([]Accepted, error)
}

// Batcher stores tasks of concurrent callers in shared commits. While one
// commit runs, the tasks of later calls wait for the next one. It is safe for
// concurrent use.
type Batcher struct{ commits *timer.Batcher[*enqueueCall] }

// enqueueCall is one call of Batcher.Enqueue.
type enqueueCall struct {
	task     NewTask
	accepted Accepted
}

// NewBatcher returns a Batcher for a store.
func NewBatcher(store Enqueuer) *Batcher {
	return &Batcher{&timer.Batcher[*enqueueCall]{
		MaxBatch: MaxBatch, Workers: 1, Timeout: callTimeout,
		Run: func(ctx context.Context, calls []*enqueueCall) error {
			tasks := make([]NewTask, len(calls))
			for i, call := range calls {
				tasks[i] = call.task
			}
			accepted, err := store.Enqueue(ctx, tasks)
			for i := range accepted {
				calls[i].accepted = accepted[i]
			}
			return err
		},
	}}
}

// Enqueue stores a task. When it returns without error, the task is on disk.
// After an error the task may still have been stored; the caller should enqueue
// it again, which is safe because of its key.
func (b *Batcher) Enqueue(ctx context.Context, task NewTask) (Accepted, error) {
	if err := task.Check(); err != nil { // a bad task would make the whole commit fail
		return Accepted{}, err
	}
	call := &enqueueCall{task: task}
	if err := b.commits.Do(ctx, call); err != nil {
		return Accepted{}, err
	}
	return call.accepted, nil
}

// callTimeout is the time limit of one call of the store. A call may hang when
// the network connection is lost.
const callTimeout = 10 * time.Second
