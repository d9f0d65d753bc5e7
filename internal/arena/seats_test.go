package arena

import (
	"context"
	"slices"

	"laststand/internal/match"
)

func (f *fakeArena) seatIndex(player string) int {
	return slices.IndexFunc(f.seats, func(s match.Seat) bool { return s.Player == player })
}

func (f *fakeArena) hasEnded() bool {
	return f.phase == match.PhaseOver || f.phase == match.PhaseSettled
}

func (f *fakeBackend) AddSeat(_ context.Context, r SeatRequest) (PlaceReply, error) {
	unlock, err := f.call("AddSeat")
	defer unlock()
	m := f.matches[r.Match]
	at := -1
	if m != nil {
		at = m.seatIndex(r.Seat.Player)
	}
	sat := PlaceReply{Role: match.PlayerRole}
	switch {
	case err != nil:
	case m == nil || m.hasEnded() && (at < 0 || m.hasLeft[r.Seat.Player]):
		sat.Verdict = VerdictGone
	case m.banned[r.Seat.Player]:
		sat.Verdict = VerdictBanned
	case at >= 0 && !m.hasLeft[r.Seat.Player]:
		sat.Verdict, sat.Team = VerdictIn, m.seats[at].Team
	case m.phase != match.PhaseLobby:
		sat.Verdict = VerdictStarted
	case m.locked:
		sat.Verdict = VerdictLocked
	case len(m.seats) >= r.MaxSeats:
		sat.Verdict = VerdictFull
	default:
		if r.Seat.Team == "" {
			r.Seat.Team = m.smallestTeam(r.Teams)
		}
		m.seats = append(m.seats, r.Seat)
		sat.Verdict, sat.Team = VerdictIn, r.Seat.Team
	}
	return sat, err
}

func (f *fakeArena) smallestTeam(teams []string) string {
	if len(teams) == 0 {
		return ""
	}
	return slices.MinFunc(teams, func(a, b string) int { return int(f.countPlayers(a) - f.countPlayers(b)) })
}

func (f *fakeArena) countPlayers(team string) (n int64) {
	for _, s := range f.seats {
		if s.Team == team {
			n++
		}
	}
	return n
}

func (f *fakeBackend) AddWatcher(_ context.Context, id, player string, as match.Role) (PlaceReply, error) {
	unlock, err := f.call("AddWatcher")
	defer unlock()
	m := f.matches[id]
	if err != nil || m == nil || m.hasEnded() && m.roles[player] == "" && m.seatIndex(player) < 0 {
		return PlaceReply{Verdict: VerdictGone}, err
	}
	if m.banned[player] {
		return PlaceReply{Verdict: VerdictBanned}, nil
	}
	if at := m.seatIndex(player); at >= 0 {
		return PlaceReply{Verdict: VerdictIn, Role: match.PlayerRole, Team: m.seats[at].Team}, nil
	}
	m.roles[player] = as
	return PlaceReply{Verdict: VerdictIn, Role: as}, nil
}

func (f *fakeBackend) RemovePlace(_ context.Context, id, player string, bans int) (PlaceReply, error) {
	unlock, err := f.call("RemovePlace")
	defer unlock()
	m := f.matches[id]
	if err != nil || m == nil || m.hasEnded() {
		return PlaceReply{Verdict: VerdictGone}, err
	}
	at, role := m.seatIndex(player), m.roles[player]
	switch {
	case at < 0 && role == "" && m.banned[player]:
		return PlaceReply{Verdict: VerdictBanned}, nil
	case at < 0 && role == "":
		return PlaceReply{Verdict: VerdictOut}, nil
	case bans > 0 && !m.banned[player] && len(m.banned) >= bans:
		return PlaceReply{Verdict: VerdictFull, Role: role}, nil
	case bans > 0:
		m.banned[player] = true
	}
	delete(m.roles, player)
	switch {
	case at < 0:
		return PlaceReply{Verdict: VerdictOut, Role: role}, nil
	case m.phase == match.PhaseLobby:
		m.seats = slices.Delete(m.seats, at, at+1)
		return PlaceReply{Verdict: VerdictOut, Role: match.PlayerRole}, nil
	}
	m.hasLeft[player] = true
	return PlaceReply{Verdict: VerdictLeft, Role: match.PlayerRole}, nil
}

func (f *fakeBackend) LockLobby(_ context.Context, id string) error {
	unlock, err := f.call("LockLobby")
	defer unlock()
	f.matches[id].locked = true
	return err
}
