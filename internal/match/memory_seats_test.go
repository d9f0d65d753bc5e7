package match

import "context"

// addSeat gives a player a seat in an arena's lobby and reports whether the
// player has one.
func (m *memoryStore) addSeat(id string, seat Seat) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.matches[id]
	if _, ok := k.seats[seat.Player]; ok {
		return !k.totals[seat.Player].Left
	}
	if k.state.Phase != Lobby || k.state.Locked || len(k.seats) >= k.plan.Arena.MaxPlayers {
		return false
	}
	delete(k.roles, seat.Player)
	k.seats[seat.Player] = seat
	k.state.Players++
	k.state.Version++
	k.count(seat.Team, 1)
	return true
}

func (k *storedMatch) count(team string, n int64) {
	if team != "" {
		t := k.teams[team]
		t.Players += n
		k.teams[team] = t
	}
}

// addWatcher gives a person a place as a watcher.
func (m *memoryStore) addWatcher(id, player string, as Role) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.matches[id].roles[player] = as
}

// removePlace ends a place.
func (m *memoryStore) removePlace(id, player string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.matches[id]
	_, watched := k.roles[player]
	delete(k.roles, player)
	seat, seated := k.seats[player]
	switch {
	case watched:
	case !seated || k.totals[player].Left || k.state.Phase.hasEnded():
		return
	case k.state.Phase == Lobby:
		delete(k.seats, player)
		k.count(seat.Team, -1)
		k.state.Players--
	default:
		k.leave(player)
	}
	k.state.EndedPlaces++
	k.state.Version++
}

// leave removes a player from a running match. The question no longer waits for
// the player. In survival an unrevealed answer is retracted.
func (k *storedMatch) leave(player string) {
	s, t := &k.state, k.totals[player]
	survival, closing := k.plan.Mode == Survival, s.Phase == Open || s.Phase == Sealed
	in := !survival || t.LastCorrect > s.LastDecided
	answered := closing && t.LastAnswered == s.Question+1
	if survival && in && answered {
		t = k.retractAnswer(player)
	}
	t.Left = true
	k.totals[player] = t
	s.LeftSeats++
	switch {
	case !in:
	case s.Phase == Countdown, s.Phase == Revealed, survival && closing, s.Phase == Open && !answered:
		s.Alive--
		if s.Phase == Open && s.Answered >= s.Alive {
			k.due = s.OpensAt
		}
	}
}

// retractAnswer retracts a player's answer to the current question.
func (k *storedMatch) retractAnswer(player string) Totals {
	r := k.records[place(k.state.Question, player)]
	k.state.Answered--
	t := k.totals[player].minus(r)
	t.LastCorrect, t.LastAnswered = k.state.LastDecided+1, k.state.LastDecided+1
	if r.Correct {
		k.state.Right--
		k.score(k.seats[player].Team, -r.Points)
	}
	return t
}

func (m *memoryStore) Member(_ context.Context, id, player string) (Member, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(id, 0)
	if err != nil {
		return Member{}, err
	}
	if role, ok := k.roles[player]; ok {
		return Member{Seat: Seat{Player: player}, Role: role}, nil
	}
	seat, ok := k.seats[player]
	if !ok || k.totals[player].Left {
		return Member{}, ErrNotFound
	}
	return Member{Seat: seat, Role: AsPlayer}, nil
}

func (m *memoryStore) WithoutPlace(ctx context.Context, id string, people []string) (absent []string, err error) {
	for _, player := range people {
		if _, err := m.Member(ctx, id, player); err != nil {
			absent = append(absent, player)
		}
	}
	return absent, nil
}

func (m *memoryStore) RankedPlayers(_ context.Context, id string, from, limit int) ([]RankedPlayer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(id, 0)
	if err != nil {
		return nil, err
	}
	all := k.sorted(k.byRank)
	page := make([]RankedPlayer, 0, limit)
	for _, seat := range all[min(from, len(all)):min(from+limit, len(all))] {
		page = append(page, RankedPlayer{Seat: seat, Totals: k.totals[seat.Player]})
	}
	return page, nil
}
