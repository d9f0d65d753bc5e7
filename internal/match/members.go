package match

import "context"

// member returns a player's place in a match, or ErrNotFound. It uses what this
// node looked up before.
func (e *Engine) member(ctx context.Context, local *localMatch, player string) (Member, error) {
	if member, ok := local.member(player); ok {
		return member, nil
	}
	return e.lookUpMember(ctx, local, player)
}

// lookUpMember reads a player's place in a match from the store.
func (e *Engine) lookUpMember(ctx context.Context, local *localMatch, player string) (Member, error) {
	if local.plan.Arena == nil {
		seat, ok := local.plan.FindSeat(player)
		if !ok {
			return Member{}, ErrNotFound
		}
		return Member{Seat: seat, Role: PlayerRole}, nil
	}
	member, err := e.Store.Member(ctx, local.plan.ID, player)
	if err == nil {
		local.storeMember(member)
	}
	return member, err
}

func (l *localMatch) member(player string) (Member, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m, ok := l.members[player]
	return m, ok
}

// storeMember remembers a place in an arena.
func (l *localMatch) storeMember(member Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members == nil {
		l.members = make(map[string]Member)
	}
	l.members[member.Seat.Player] = member
}

// isSpectator reports whether the player only watches.
func (l *localMatch) isSpectator(player string) bool {
	member, ok := l.member(player)
	return ok && member.Role == SpectatorRole
}

// playerSessions returns the sessions at this node whose players have a seat.
func (l *localMatch) playerSessions() map[string]Subscriber {
	l.mu.Lock()
	defer l.mu.Unlock()
	sessions := make(map[string]Subscriber, len(l.sessions))
	for player, session := range l.sessions {
		if l.plan.Arena == nil || l.members[player].Role == PlayerRole {
			sessions[player] = session
		}
	}
	return sessions
}

// hasHost reports whether the host of an arena has a session at this node, in
// any role.
func (l *localMatch) hasHost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[l.plan.Arena.Host] != nil
}
