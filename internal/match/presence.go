package match

import "sync"

// Subscriber is a player's session at this node. The engine reports to it what
// happens in the player's matches. Its methods return at once and are safe for
// concurrent use. They must not call back into this package.
type Subscriber interface {
	// Push hands over encoded frames of a match ("" for none), in order. Frames
	// of one call should be sent together. Push keeps the frames, not the
	// slice.
	Push(match string, frames ...[]byte)
	// DiscardUnsent drops the unsent frames of a match, because they are about to
	// be pushed again.
	DiscardUnsent(match string)
	// CanAttach reports whether the session may be attached to a newly found
	// match, from its first push on. It returns false while the hello is being
	// answered. It also returns false for a match that the player was in
	// before, because the welcome already contains it.
	CanAttach(match string) bool
	// DuelChanged reports that a duel of the player has begun or is over. A session
	// that is attached to a running duel is told that it has begun. The call comes
	// before the pushes of the change.
	DuelChanged(running bool)
}

// Presence stores the session of each player at this node. It is safe for
// concurrent use. The zero value is
// ready for use.
type Presence struct {
	mu       sync.RWMutex
	sessions map[playerKey]Subscriber
}

type playerKey struct{ game, player string }

// Enter registers a player's session and returns the session that it replaces,
// or nil.
func (p *Presence) Enter(game, player string, session Subscriber) Subscriber {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sessions == nil {
		p.sessions = make(map[playerKey]Subscriber)
	}
	key := playerKey{game, player}
	former := p.sessions[key]
	p.sessions[key] = session
	return former
}

// Leave removes a player's session unless a newer one has replaced it. It reports
// whether it removed the session.
func (p *Presence) Leave(game, player string, session Subscriber) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := playerKey{game, player}
	if p.sessions[key] != session {
		return false
	}
	delete(p.sessions, key)
	return true
}

// Find returns a player's session.
func (p *Presence) Find(game, player string) (Subscriber, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	session, ok := p.sessions[playerKey{game, player}]
	return session, ok
}
