package match

import (
	"context"
	"slices"
)

// addSeat gives a player a seat in an arena's lobby and reports whether the
// player has one.
func (m *memoryStore) addSeat(id string, seat Seat) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.matches[id]
	if _, ok := stored.seats[seat.Player]; ok {
		return !stored.totals[seat.Player].HasLeft
	}
	if stored.state.Phase != PhaseLobby || stored.state.Locked || len(stored.seats) >= stored.plan.Arena.MaxPlayers {
		return false
	}
	delete(stored.roles, seat.Player)
	stored.seats[seat.Player] = seat
	stored.state.Players++
	stored.state.Version++
	stored.addTeamPlayers(seat.Team, 1)
	return true
}

func (stored *storedMatch) addTeamPlayers(team string, n int64) {
	if team != "" {
		t := stored.teams[team]
		t.Players += n
		stored.teams[team] = t
	}
}

// setExtra gives a player in the lobby extra time.
func (m *memoryStore) setExtra(id, player string, percent int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.matches[id]
	stored.dropExtra(player)
	stored.state.Extra = append(stored.state.Extra, ExtraTime{player, stored.seats[player].Nickname, percent})
	stored.state.Version++
}

func (stored *storedMatch) dropExtra(player string) {
	stored.state.Extra = slices.DeleteFunc(slices.Clone(stored.state.Extra), func(e ExtraTime) bool { return e.Player == player })
}

// addWatcher gives a person a place as a watcher.
func (m *memoryStore) addWatcher(id, player string, role Role) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.matches[id].roles[player] = role
}

// removePlace ends a place.
func (m *memoryStore) removePlace(id, player string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored := m.matches[id]
	_, watched := stored.roles[player]
	delete(stored.roles, player)
	seat, hasSeat := stored.seats[player]
	switch {
	case watched:
	case !hasSeat || stored.totals[player].HasLeft || stored.state.Phase.hasEnded():
		return
	case stored.state.Phase == PhaseLobby:
		delete(stored.seats, player)
		stored.addTeamPlayers(seat.Team, -1)
		stored.state.Players--
	default:
		stored.leaveRunningMatch(player)
	}
	stored.dropExtra(player)
	stored.state.EndedPlaces++
	stored.state.Version++
}

// leaveRunningMatch removes a player from a running match. The question no longer waits for
// the player. In survival an unrevealed answer is retracted.
func (stored *storedMatch) leaveRunningMatch(player string) {
	state, t := &stored.state, stored.totals[player]
	survival, closing := stored.plan.Mode == Survival, state.Phase == PhaseOpen || state.Phase == PhaseSealed
	isIn := !survival || t.LastCorrect > state.LastDecided
	answered := closing && t.LastAnswered == state.Question+1
	if survival && isIn && answered {
		t = stored.retractAnswer(player)
	}
	t.HasLeft = true
	stored.totals[player] = t
	state.LeftSeats++
	switch {
	case !isIn:
	case state.Phase == PhaseCountdown, state.Phase == PhaseRevealed, survival && closing, state.Phase == PhaseOpen && !answered:
		state.Alive--
		if state.Phase == PhaseOpen && state.Answered >= state.Alive {
			stored.dueAt = state.OpensAt
		}
	}
}

// retractAnswer retracts a player's answer to the current question.
func (stored *storedMatch) retractAnswer(player string) Totals {
	record := stored.records[answerKey(stored.state.Question, player)]
	stored.state.Answered--
	stored.count(record.Normalized, -1)
	t := stored.totals[player].withoutRecord(record)
	t.LastCorrect, t.LastAnswered = stored.state.LastDecided+1, stored.state.LastDecided+1
	if record.Correct {
		stored.state.Right--
		stored.addTeamScore(stored.seats[player].Team, -record.Points)
	}
	return t
}

func (m *memoryStore) Members(_ context.Context, id string, people ...string) (map[string]Member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, err := m.find(id, Seen{})
	if err != nil {
		return nil, nil
	}
	members := make(map[string]Member)
	for _, player := range people {
		seat, hasSeat := stored.seats[player]
		if role, ok := stored.roles[player]; ok {
			members[player] = Member{Seat: Seat{Player: player}, Role: role}
		} else if hasSeat && !stored.totals[player].HasLeft {
			members[player] = Member{Seat: seat, Role: PlayerRole}
		}
	}
	return members, nil
}

func (m *memoryStore) RankedPlayers(_ context.Context, id string, from, limit int) ([]RankedPlayer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, err := m.find(id, Seen{})
	if err != nil {
		return nil, err
	}
	ranked := stored.sortedSeats(stored.compareByRankAndID)
	page := make([]RankedPlayer, 0, limit)
	for _, seat := range ranked[min(from, len(ranked)):min(from+limit, len(ranked))] {
		page = append(page, RankedPlayer{Seat: seat, Totals: stored.totals[seat.Player]})
	}
	return page, nil
}
