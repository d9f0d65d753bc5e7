package taskqueue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bounds of what is enqueued.
const (
	MaxPayload  = 64 << 10 // bytes
	MaxName     = 200      // bytes of a topic and of a key
	MaxPriority = 7        // priorities are 0 to 7, the most urgent; each has twice the share of the one below
	TriesLimit  = 1000
	MaxBatch    = 1000 // tasks of one call

	defaultTries = 20
	maxInstant   = 253_402_300_799_999 // epoch ms, of the year 9999: what is later was not meant in ms
)

// ErrBadTask says that a task can never be taken.
var ErrBadTask = errors.New("the task cannot be enqueued")

// Ordering says in what order the tasks of a topic and priority are handed out.
// What was enqueued there last decides.
type Ordering string

// The orderings.
const (
	// Free: in order, to as many workers as there are.
	Free Ordering = ""
	// Ordered: one at a time. One that fails holds up those behind it until it is
	// dead.
	Ordered Ordering = "ordered"
	// Pausing: Ordered, and a dead one holds them up until an operator requeues or
	// discards it.
	Pausing Ordering = "pausing"
)

// New is a task to be enqueued.
type NewTask struct {
	Game      string
	Topic     string // as webhook/demo/1: workers serve the part before the first /
	Key       string // of this game and topic, taken once
	Priority  int64
	Ordering  Ordering
	NotBefore int64 // epoch ms; it gets its place in the line then. 0: now
	MaxTries  int64 // 0: 20
	Payload   json.RawMessage
}

// Accepted is what an enqueued task is, which is on disk: for a key that was
// there already, the task that came first.
type Accepted struct {
	ID    string `json:"id"`
	State State  `json:"state"`
	New   bool   `json:"new"`
}

// Kind is the part of a topic that workers serve: up to its first /.
func Kind(topic string) string {
	kind, _, _ := strings.Cut(topic, "/")
	return kind
}

// Check refuses with ErrBadTask what no store would take.
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

// bad says whether a name is none: printable ASCII without spaces is.
func isBadName(name string, mayBeEmpty bool) bool {
	return name == "" && !mayBeEmpty || len(name) > MaxName || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' })
}

// Task is the task to be, in its state at an instant.
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
