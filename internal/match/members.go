package match

import "context"

// member finds somebody's place in a match; ErrNotFound where there is none.
// What this node has looked up before it knows.
func (e *Engine) member(ctx context.Context, l *localMatch, player string) (Member, error) {
	if m, ok := l.member(player); ok {
		return m, nil
	}
	return e.lookUpMember(ctx, l, player)
}

// lookUpMember looks somebody's place in a match up.
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

// keepMember keeps somebody's place in an arena.
func (l *localMatch) keepMember(m Member) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.members == nil {
		l.members = make(map[string]Member)
	}
	l.members[m.Seat.Player] = m
}

// isSpectator says whether somebody only looks on.
func (l *localMatch) isSpectator(player string) bool {
	m, ok := l.member(player)
	return ok && m.Role == AsSpectator
}

// playerSessions are those with a seat and a session here.
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

// hasHost says whether the host of an arena has a session here, in whatever
// role.
func (l *localMatch) hasHost() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.subs[l.plan.Arena.Host] != nil
}
