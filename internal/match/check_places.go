package match

import "maps"

// sessionsToCheck returns the local sessions whose places may have ended, and
// how many places of the arena have ended. It returns no sessions if no place
// has ended since the last clean check.
func (l *localMatch) sessionsToCheck() (sessions map[string]Subscriber, ended int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.plan.Arena == nil || l.state.EndedPlaces == l.checkedEndedPlaces {
		return nil, l.checkedEndedPlaces
	}
	return maps.Clone(l.sessions), l.state.EndedPlaces
}

// confirmWithoutPlace records which sessions have no place, and returns the
// players who had none at the previous check either.
func (l *localMatch) confirmWithoutPlace(withoutPlace map[string]Subscriber, ended int64) (confirmed []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for player, session := range withoutPlace {
		if l.withoutPlace[player] == session && l.sessions[player] == session {
			confirmed = append(confirmed, player)
		}
	}
	if l.withoutPlace = withoutPlace; len(withoutPlace) == len(confirmed) {
		l.withoutPlace, l.checkedEndedPlaces = nil, ended
	}
	return confirmed
}
