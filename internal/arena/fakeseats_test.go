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

func (f *fakeBackend) AddSeat(_ context.Context, request SeatRequest) (PlaceReply, error) {
	unlock, err := f.call("AddSeat")
	defer unlock()
	arena := f.matches[request.Match]
	seatIndex := -1
	if arena != nil {
		seatIndex = arena.seatIndex(request.Seat.Player)
	}
	reply := PlaceReply{Role: match.PlayerRole}
	switch {
	case err != nil:
	case arena == nil || arena.hasEnded() && (seatIndex < 0 || arena.hasLeft[request.Seat.Player]):
		reply.Verdict = VerdictGone
	case arena.banned[request.Seat.Player]:
		reply.Verdict = VerdictBanned
	case seatIndex >= 0 && !arena.hasLeft[request.Seat.Player]:
		reply.Verdict, reply.Team = VerdictIn, arena.seats[seatIndex].Team
	case arena.phase != match.PhaseLobby && (!request.AllowLate || seatIndex >= 0):
		reply.Verdict = VerdictStarted
	case arena.locked:
		reply.Verdict = VerdictLocked
	case len(arena.seats) >= request.MaxSeats:
		reply.Verdict = VerdictFull
	default:
		if request.Seat.Team == "" {
			request.Seat.Team = arena.smallestTeam(request.Teams)
		}
		arena.seats = append(arena.seats, request.Seat)
		reply.Verdict, reply.Team = VerdictIn, request.Seat.Team
	}
	return reply, err
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

func (f *fakeBackend) AddWatcher(_ context.Context, id, player string, role match.Role) (PlaceReply, error) {
	unlock, err := f.call("AddWatcher")
	defer unlock()
	arena := f.matches[id]
	if err != nil || arena == nil || arena.hasEnded() && arena.roles[player] == "" && arena.seatIndex(player) < 0 {
		return PlaceReply{Verdict: VerdictGone}, err
	}
	if arena.banned[player] {
		return PlaceReply{Verdict: VerdictBanned}, nil
	}
	if seatIndex := arena.seatIndex(player); seatIndex >= 0 {
		return PlaceReply{Verdict: VerdictIn, Role: match.PlayerRole, Team: arena.seats[seatIndex].Team}, nil
	}
	arena.roles[player] = role
	return PlaceReply{Verdict: VerdictIn, Role: role}, nil
}

func (f *fakeBackend) RemovePlace(_ context.Context, id, player string, maxBans int) (PlaceReply, error) {
	unlock, err := f.call("RemovePlace")
	defer unlock()
	arena := f.matches[id]
	if err != nil || arena == nil || arena.hasEnded() {
		return PlaceReply{Verdict: VerdictGone}, err
	}
	seatIndex, role := arena.seatIndex(player), arena.roles[player]
	switch {
	case seatIndex < 0 && role == "" && arena.banned[player]:
		return PlaceReply{Verdict: VerdictBanned}, nil
	case seatIndex < 0 && role == "":
		return PlaceReply{Verdict: VerdictOut}, nil
	case maxBans > 0 && !arena.banned[player] && len(arena.banned) >= maxBans:
		return PlaceReply{Verdict: VerdictFull, Role: role}, nil
	case maxBans > 0:
		arena.banned[player] = true
	}
	delete(arena.roles, player)
	switch {
	case seatIndex < 0:
		return PlaceReply{Verdict: VerdictOut, Role: role}, nil
	case arena.phase == match.PhaseLobby:
		arena.seats = slices.Delete(arena.seats, seatIndex, seatIndex+1)
		return PlaceReply{Verdict: VerdictOut, Role: match.PlayerRole}, nil
	}
	arena.hasLeft[player] = true
	return PlaceReply{Verdict: VerdictLeft, Role: match.PlayerRole}, nil
}

// SetExtra accepts two players with extra time.
func (f *fakeBackend) SetExtra(_ context.Context, id, player string, percent int64) (PlaceReply, error) {
	unlock, err := f.call("SetExtra")
	defer unlock()
	arena := f.matches[id]
	seatIndex := arena.seatIndex(player)
	switch {
	case err != nil || arena.phase != match.PhaseLobby:
		return PlaceReply{Verdict: VerdictStarted}, err
	case seatIndex < 0:
		return PlaceReply{Verdict: VerdictOut}, nil
	case len(arena.extra) >= 2:
		return PlaceReply{Verdict: VerdictFull}, nil
	}
	arena.extra = append(arena.extra, match.ExtraTime{Player: player, Nickname: arena.seats[seatIndex].Nickname, Percent: percent})
	return PlaceReply{Verdict: VerdictIn}, nil
}

func (f *fakeBackend) LockLobby(_ context.Context, id string) error {
	unlock, err := f.call("LockLobby")
	defer unlock()
	f.matches[id].locked = true
	return err
}
