package match

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
)

// ErrUnreadable reports that a match exists but this node cannot read it: its
// plan or state is corrupt or has another form. Players of such a match count
// as not playing, so it wraps ErrNotFound.
var ErrUnreadable = fmt.Errorf("%w: this node cannot read it", ErrNotFound)

// UnreadableError is an ErrUnreadable with its reason.
type UnreadableError struct {
	Reason string // one of the reasons below
	Err    error
}

// The reasons of laststand_match_decode_failures_total.
const (
	ReasonOlderForm = "older_form"
	ReasonNewerForm = "newer_form"
	ReasonCorrupt   = "corrupt"
)

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("%v (%s): %v", ErrUnreadable, e.Reason, e.Err)
}

// Unwrap returns ErrUnreadable and the cause.
func (e *UnreadableError) Unwrap() []error { return []error{ErrUnreadable, e.Err} }

// orphanSweeps is how many sweeps in a row, one per second, must find an
// unreadable match overdue before it is removed. A live node that can read the
// match advances it within seconds.
const orphanSweeps = 60

// maxUnreadableMatches limits the unreadable matches that a node remembers.
const maxUnreadableMatches = 20_000

// unreadableMatches holds the matches that this node could not read. For each
// it counts the sweeps in a row that found the match overdue.
type unreadableMatches struct {
	mu     sync.Mutex
	sweeps map[string]int
}

// add remembers a match and reports whether it is new.
func (u *unreadableMatches) add(match string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, isKnown := u.sweeps[match]; isKnown || len(u.sweeps) >= maxUnreadableMatches {
		return false
	}
	if u.sweeps == nil {
		u.sweeps = make(map[string]int)
	}
	u.sweeps[match] = 0
	return true
}

// countOverdue counts a sweep that found the match overdue and returns the
// number of such sweeps. It returns 0 for a match that is not known to be
// unreadable.
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

// retain forgets all matches except the given ones.
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

// countUnreadable counts an unreadable match. It logs the match once until it
// is forgotten.
func (e *Engine) countUnreadable(match string, err error) {
	var unreadable *UnreadableError
	if !errors.As(err, &unreadable) {
		return
	}
	e.metrics.unreadable.WithLabelValues(unreadable.Reason).Inc()
	if e.unreadable.add(match) {
		e.Logger.Warn("match not readable by this node; its players count as not playing", "match", match, "reason", unreadable.Reason, "error", unreadable.Err)
	}
}

// removeOrphan removes an unreadable match after orphanSweeps overdue sweeps. By
// then no live node can read it.
func (e *Engine) removeOrphan(ctx context.Context, match string, sweeps int) error {
	if sweeps < orphanSweeps {
		return nil
	}
	removed, err := e.Index.RemoveOrphan(ctx, match, e.Now()-orphanSweeps*recoveryInterval.Milliseconds())
	if err != nil || !removed {
		return err
	}
	e.metrics.removedOrphans.Inc()
	e.Logger.Warn("removed a match that no live node can read; it does not count", "match", match)
	return nil
}
