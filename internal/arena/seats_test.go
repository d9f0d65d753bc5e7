package arena

import (
	"context"
	"slices"

	"laststand/internal/match"
)

func (h *fakeArena) seat(player string) int {
	return slices.IndexFunc(h.seats, func(s match.Seat) bool { return s.Player == player })
}

func (h *fakeArena) hasEnded() bool { return h.phase == match.Over || h.phase == match.Settled }

func (h *fakeBackend) AddSeat(_ context.Context, r SeatRequest) (PlaceReply, error) {
	unlock, err := h.call("AddSeat")
	defer unlock()
	m := h.matches[r.Match]
	at := -1
	if m != nil {
		at = m.seat(r.Seat.Player)
	}
	sat := PlaceReply{Role: match.AsPlayer}
	switch {
	case err != nil:
	case m == nil || m.hasEnded() && (at < 0 || m.left[r.Seat.Player]):
		sat.Verdict = Gone
	case m.banned[r.Seat.Player]:
		sat.Verdict = Banned
	case at >= 0 && !m.left[r.Seat.Player]:
		sat.Verdict, sat.Team = In, m.seats[at].Team
	case m.phase != match.Lobby:
		sat.Verdict = Started
	case m.locked:
		sat.Verdict = Locked
	case len(m.seats) >= r.Max:
		sat.Verdict = Full
	default:
		if r.Seat.Team == "" {
			r.Seat.Team = m.smallest(r.Teams)
		}
		m.seats = append(m.seats, r.Seat)
		sat.Verdict, sat.Team = In, r.Seat.Team
	}
	return sat, err
}

func (h *fakeArena) smallest(teams []string) string {
	if len(teams) == 0 {
		return ""
	}
	return slices.MinFunc(teams, func(a, b string) int { return int(h.players(a) - h.players(b)) })
}

func (h *fakeArena) players(team string) (n int64) {
	for _, s := range h.seats {
		if s.Team == team {
			n++
		}
	}
	return n
}

func (h *fakeBackend) AddWatcher(_ context.Context, id, player string, as match.Role) (PlaceReply, error) {
	unlock, err := h.call("AddWatcher")
	defer unlock()
	m := h.matches[id]
	if err != nil || m == nil || m.hasEnded() && m.roles[player] == "" && m.seat(player) < 0 {
		return PlaceReply{Verdict: Gone}, err
	}
	if m.banned[player] {
		return PlaceReply{Verdict: Banned}, nil
	}
	if at := m.seat(player); at >= 0 {
		return PlaceReply{Verdict: In, Role: match.AsPlayer, Team: m.seats[at].Team}, nil
	}
	m.roles[player] = as
	return PlaceReply{Verdict: In, Role: as}, nil
}

func (h *fakeBackend) RemovePlace(_ context.Context, id, player string, bans int) (PlaceReply, error) {
	unlock, err := h.call("RemovePlace")
	defer unlock()
	m := h.matches[id]
	if err != nil || m == nil || m.hasEnded() {
		return PlaceReply{Verdict: Gone}, err
	}
	at, role := m.seat(player), m.roles[player]
	switch {
	case at < 0 && role == "" && m.banned[player]:
		return PlaceReply{Verdict: Banned}, nil
	case at < 0 && role == "":
		return PlaceReply{Verdict: Out}, nil
	case bans > 0 && !m.banned[player] && len(m.banned) >= bans:
		return PlaceReply{Verdict: Full, Role: role}, nil
	case bans > 0:
		m.banned[player] = true
	}
	delete(m.roles, player)
	switch {
	case at < 0:
		return PlaceReply{Verdict: Out, Role: role}, nil
	case m.phase == match.Lobby:
		m.seats = slices.Delete(m.seats, at, at+1)
		return PlaceReply{Verdict: Out, Role: match.AsPlayer}, nil
	}
	m.left[player] = true
	return PlaceReply{Verdict: Left, Role: match.AsPlayer}, nil
}

func (h *fakeBackend) LockLobby(_ context.Context, id string) error {
	unlock, err := h.call("LockLobby")
	defer unlock()
	h.matches[id].locked = true
	return err
}
