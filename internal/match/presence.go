package match

import "sync"

// Subscriber is a player's session at this node. Its methods return at once
// and are safe for concurrent use; none may call back into this package.
type Subscriber interface {
	// Push hands over encoded frames of a match ("" for none), in order; those of
	// one call are best sent together. It keeps the frames, not the slice.
	Push(match string, frames ...[]byte)
	// Forget drops the frames of a match that are held back and not sent yet,
	// because they are about to be pushed again.
	DiscardHeld(match string)
	// Expects says whether the session may be led into a match that has just been
	// found, from its first push on. It may not while its hello is answered, nor
	// into a match that its player was in before: the welcome tells of that one.
	CanAttach(match string) bool
}

// Presence knows which players have a session at this node. The zero value
// is ready for use.
type Presence struct {
	mu   sync.RWMutex
	subs map[playerKey]Subscriber
}

type playerKey struct{ game, player string }

// Enter registers a player's session and returns the one that it replaces,
// nil where there was none.
func (p *Presence) Enter(game, player string, sub Subscriber) Subscriber {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.subs == nil {
		p.subs = make(map[playerKey]Subscriber)
	}
	key := playerKey{game, player}
	former := p.subs[key]
	p.subs[key] = sub
	return former
}

// Leave removes a player's session unless a newer one has replaced it, and
// says whether it did.
func (p *Presence) Leave(game, player string, sub Subscriber) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := playerKey{game, player}
	if p.subs[key] != sub {
		return false
	}
	delete(p.subs, key)
	return true
}

// Find finds a player's session.
func (p *Presence) Find(game, player string) (Subscriber, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	sub, ok := p.subs[playerKey{game, player}]
	return sub, ok
}
