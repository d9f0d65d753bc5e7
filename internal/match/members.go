package match

import "context"

// member returns a player's place in a match, or ErrNotFound. It uses what this
// node looked up before.
func (e *Engine) member(ctx context.Context, l *localMatch, player string) (Member, error) {
	if m, ok := l.member(player); ok {
		return m, nil
	}
	return e.lookUpMember(ctx, l, player)
}

// lookUpMember reads a player's place in a match from the store.
func (e *Engine) lookUpMember(ctx context.Context, l *localMatch, player string) (Member, error) {
	if l.plan.Arena == nil {
		seat, ok := l.plan.Seat(player)
		if !ok {
			return Member{}, ErrNotFound
		}
		return Member{Seat: seat, Role: AsPlayer}, nil
	}
	m, err := e.Store.Member(ctx, l.plan.ID, player)
	if err == nil {
		l.keepMember(m)
	}
	return m, err
}

func (l *localMatch) member(player string) (Member, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.members[player]
	return m, ok
}

// keepMember remembers a place in an arena.
func (l *localMatch) keepMember(m Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members == nil {
		l.members = make(map[string]Member)
	}
	l.members[m.Seat.Player] = m
}

// isSpectator reports whether the player only watches.
func (l *localMatch) isSpectator(player string) bool {
	m, ok := l.member(player)
	return ok && m.Role == AsSpectator
}

// playerSessions returns the sessions at this node whose players have a seat.
func (l *localMatch) playerSessions() map[string]Subscriber {
	l.mu.Lock()
	defer l.mu.Unlock()
	here := make(map[string]Subscriber, len(l.subs))
	for player, sub := range l.subs {
		if l.plan.Arena == nil || l.members[player].Role == AsPlayer {
			here[player] = sub
		}
	}
	return here
}

// hasHost reports whether the host of an arena has a session at this node, in
// any role.
func (l *localMatch) hasHost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.subs[l.plan.Arena.Host] != nil
}
