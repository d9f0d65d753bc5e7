package taskqueue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Limits of new tasks.
const (
	MaxPayload  = 64 << 10 // bytes
	MaxName     = 200      // bytes of a topic and of a key
	MaxPriority = 7        // priorities are 0 to 7; each has twice the share of the one below
	TriesLimit  = 1000
	MaxBatch    = 1000 // tasks of one call

	defaultTries = 20
	maxInstant   = 253_402_300_799_999 // epoch ms, the year 9999; a later time is not in ms
)

// ErrBadTask says that a task can never be accepted.
var ErrBadTask = errors.New("the task cannot be enqueued")

// Ordering is the order in which the tasks of a queue are handed out. The last
// enqueued task decides for its queue.
type Ordering string

// The orderings.
const (
	// Free hands tasks out in order, to any number of workers.
	Free Ordering = ""
	// Ordered hands out one task at a time. A failing task holds up the later
	// ones until it is dead.
	Ordered Ordering = "ordered"
	// Pausing is like Ordered, but a dead task holds up the later ones until an
	// operator requeues or discards it.
	Pausing Ordering = "pausing"
)

// NewTask is a task to enqueue.
type NewTask struct {
	Game      string
	Topic     string // for example webhook/demo/1: workers serve the part before the first /
	Key       string // accepted once per game and topic
	Priority  int64
	Ordering  Ordering
	NotBefore int64 // epoch ms; the task joins its queue then. 0: now
	MaxTries  int64 // 0: 20
	Payload   json.RawMessage
}

// Accepted identifies an enqueued task, which is on disk. For a known key it is
// the first task with that key.
type Accepted struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	New   bool   `json:"new"`
}

// Kind returns the part of a topic that workers serve: up to its first slash.
func Kind(topic string) string {
	kind, _, _ := strings.Cut(topic, "/")
	return kind
}

// Check returns ErrBadTask for a task that no store would accept.
func (n *NewTask) Check() error {
	switch {
	case isBadName(n.Game, true), isBadName(n.Topic, false), isBadName(n.Key, false), Kind(n.Topic) == "":
		return fmt.Errorf("%w: game %q, topic %q and key %q are 1 to %d printable bytes without spaces; the game may be empty", ErrBadTask, n.Game, n.Topic, n.Key, MaxName)
	case n.Priority < 0 || n.Priority > MaxPriority:
		return fmt.Errorf("%w: priority %d: want 0 to %d", ErrBadTask, n.Priority, MaxPriority)
	case n.Ordering != Free && n.Ordering != Ordered && n.Ordering != Pausing:
		return fmt.Errorf("%w: ordering %q: want %q, %q or none", ErrBadTask, n.Ordering, Ordered, Pausing)
	case n.MaxTries < 0 || n.MaxTries > TriesLimit:
		return fmt.Errorf("%w: %d tries: want up to %d", ErrBadTask, n.MaxTries, TriesLimit)
	case n.NotBefore < 0 || n.NotBefore > maxInstant:
		return fmt.Errorf("%w: not before %d: want an instant in epoch ms, up to %d", ErrBadTask, n.NotBefore, int64(maxInstant))
	}
	return checkPayload(n.Payload)
}

func checkPayload(payload json.RawMessage) error {
	switch {
	case len(payload) > MaxPayload:
		return fmt.Errorf("%w: a payload of %d bytes: want up to %d", ErrBadTask, len(payload), MaxPayload)
	case !utf8.Valid(payload) || !json.Valid(payload):
		return fmt.Errorf("%w: the payload is no JSON", ErrBadTask)
	case string(bytes.TrimSpace(payload)) == "null":
		return fmt.Errorf("%w: a payload of null says nothing", ErrBadTask)
	}
	return nil
}

// isBadName reports whether a name is too long, or contains anything but
// printable ASCII without spaces.
func isBadName(name string, mayBeEmpty bool) bool {
	return name == "" && !mayBeEmpty || len(name) > MaxName || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' })
}

// Task returns the new task in its first state.
func (n *NewTask) Task(now int64) Task {
	t := Task{
		Game: n.Game, Topic: n.Topic, Key: n.Key, Priority: n.Priority, Ordering: n.Ordering,
		State: Waiting, MaxTries: n.MaxTries, Payload: n.Payload,
	}
	if t.MaxTries == 0 {
		t.MaxTries = defaultTries
	}
	if n.NotBefore > now {
		t.State, t.DueAt = Later, n.NotBefore
	}
	return t
}
