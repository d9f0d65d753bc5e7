package match

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
)

// ErrUnreadable says that a match is there and that this node cannot read it:
// its plan or state is corrupt, or of another form. Players of such a match
// count as not playing, so it is an ErrNotFound too.
var ErrUnreadable = fmt.Errorf("%w: this node cannot read it", ErrNotFound)

// UnreadableError is an ErrUnreadable with its reason.
type UnreadableError struct {
	Reason string // one of the reasons below
	Err    error
}

// The reasons of laststand_match_decode_failures_total.
const (
	OlderForm = "older_form"
	NewerForm = "newer_form"
	Corrupt   = "corrupt"
)

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%v (%s): %v", ErrUnreadable, e.Reason, e.Err)
}

// Unwrap gives ErrUnreadable and the cause.
func (e *UnreadableError) Unwrap() []error { return []error{ErrUnreadable, e.Err} }

// orphanSweeps is how many sweeps, one a second, find an unreadable match
// overdue before it is removed. A living node that can read it advances it
// within seconds.
const orphanSweeps = 60

// maxUnreadable bounds the unreadable matches that a node remembers.
const maxUnreadable = 20_000

// unreadableMatches holds the matches that this node could not read lately, each with
// the number of sweeps in a row that found it overdue.
type unreadableMatches struct {
	mu     sync.Mutex
	sweeps map[string]int
}

// add notes a match and says whether it is new.
func (u *unreadableMatches) add(match string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, known := u.sweeps[match]; known || len(u.sweeps) >= maxUnreadable {
		return false
	}
	if u.sweeps == nil {
		u.sweeps = make(map[string]int)
	}
	u.sweeps[match] = 0
	return true
}

// countOverdue notes that one more sweep found the match overdue and gives their
// number; 0 for a match that is not known to be unreadable.
func (u *unreadableMatches) countOverdue(match string) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	n, known := u.sweeps[match]
	if !known {
		return 0
	}
	u.sweeps[match] = n + 1
	return n + 1
}

// retain forgets all matches but those given.
func (u *unreadableMatches) retain(matches []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.sweeps) == 0 {
		return
	}
	due := make(map[string]bool, len(matches))
	for _, id := range matches {
		due[id] = true
	}
	maps.DeleteFunc(u.sweeps, func(id string, _ int) bool { return !due[id] })
}

// countUnreadable counts an unreadable match and logs it once until it is
// forgotten.
func (e *Engine) countUnreadable(match string, err error) {
	var unreadable *UnreadableError
	if !errors.As(err, &unreadable) {
		return
	}
	e.metrics.unreadable.WithLabelValues(unreadable.Reason).Inc()
	if e.unreadable.add(match) {
		e.Logger.Warn("a match cannot be read by this node; its players count as not playing", "match", match, "reason", unreadable.Reason, "error", unreadable.Err)
	}
}

// removeOrphan removes an unreadable match that was found overdue by so many sweeps
// that no living node can read it either.
func (e *Engine) removeOrphan(ctx context.Context, match string, sweeps int) error {
	if sweeps < orphanSweeps {
		return nil
	}
	removed, err := e.Index.RemoveOrphan(ctx, match, e.Now()-orphanSweeps*pollEvery.Milliseconds())
	if err != nil || !removed {
		return err
	}
	e.metrics.removedOrphans.Inc()
	e.Logger.Warn("a match that no living node can read was removed; nothing of it counts", "match", match)
	return nil
}
