package match

import (
	"context"
	"maps"
	"slices"

	"laststand/internal/protocol"
)

// live finds a match of this node, or loads it. Clients send any text as the id
// of a match: what is none is not found, and never becomes part of a key.
func (e *Engine) live(ctx context.Context, match string) (*live, error) {
	if l := e.held(match); l != nil {
		return l, nil
	}
	if !protocol.IsMatchID(match) {
		return nil, ErrNotFound
	}
	v, err := e.Store.Read(ctx, ReadQuery{Match: match, Plan: true, After: -1})
	if err != nil {
		e.noteUnreadable(match, err)
		return nil, err
	}
	l := e.hold(newLive(v))
	e.arm(l)
	return l, nil
}

// held is a match of this node, nil if it is not.
func (e *Engine) held(match string) *live {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lives[match]
}

// hold keeps a match that was loaded, unless another has been faster.
func (e *Engine) hold(l *live) *live {
	e.mu.Lock()
	defer e.mu.Unlock()
	if first := e.lives[l.plan.ID]; first != nil {
		return first
	}
	e.lives[l.plan.ID] = l
	e.metrics.lives.Inc()
	return l
}

// drop lets go of a match that is over.
func (e *Engine) drop(l *live) {
	for _, player := range l.release() {
		e.forget(l, player)
	}
	e.replayBytes.Add(-l.replay.clear(true))
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lives[l.plan.ID] == l {
		delete(e.lives, l.plan.ID)
		e.metrics.lives.Dec()
	}
}

// unfinished lists the matches here that are not known to be over.
func (e *Engine) unfinished() []*live {
	return e.those(func(l *live) bool { return !l.known().Phase.ended() })
}

// those lists the matches here of which something holds.
func (e *Engine) those(holds func(*live) bool) []*live {
	e.mu.Lock()
	lives := slices.Collect(maps.Values(e.lives))
	e.mu.Unlock() // the locks of the matches are taken before it
	return slices.DeleteFunc(lives, func(l *live) bool { return !holds(l) })
}
