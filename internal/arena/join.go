package arena

import (
	"cmp"
	"context"
	"slices"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// JoinRequest asks for a place in an arena for the subject of a token.
type JoinRequest struct {
	Game, Player string        // Player is the subject
	Role         identity.Role // of the token
	protocol.ArenaJoin
}

// Join gives a person a place in an arena and attaches the session. The session
// gets all pushes after the state in the reply. A person with a place keeps it.
// If Join fails, the place may exist; a repeated call continues from there.
//
// It returns the reply and a function that notifies the others. The caller must
// call the function after it has sent the reply. The function is never nil.
func (s *Service) Join(ctx context.Context, r JoinRequest) (protocol.ArenaJoined, func(), error) {
	joined, notifyOthers, err := s.join(ctx, r)
	s.metrics.joins.WithLabelValues(protocol.Outcome(err, joined.As)).Inc()
	if err != nil {
		return protocol.ArenaJoined{}, func() {}, err
	}
	return joined, notifyOthers, nil
}

func (s *Service) join(ctx context.Context, r JoinRequest) (protocol.ArenaJoined, func(), error) {
	view, err := s.readByCode(ctx, r.Game, r.Code)
	if err != nil {
		return protocol.ArenaJoined{}, nil, err
	}
	reply, err := s.givePlace(ctx, r, view.Plan)
	if err != nil {
		return protocol.ArenaJoined{}, nil, err
	}
	if view, err = s.readArena(ctx, r.Game, view.Plan.ID); err != nil { // including the new place
		return protocol.ArenaJoined{}, nil, err
	}
	a := view.Plan.Arena
	joined := protocol.ArenaJoined{
		ArenaID: a.ID, Mode: string(view.Plan.Mode), Name: a.Name, As: string(reply.Role), Team: reply.Team,
		Teams: view.TeamCounts(a), Players: view.Players, State: publicState(view.Phase),
	}
	if r.Player == a.Host {
		joined.Extra = extraViews(view)
	}
	if joined.State != stateLobby {
		joined.Match = view.Plan.ID
	}
	if err := s.Audience.AttachFrom(ctx, view.Plan.ID, r.Player, view.Seq); err != nil {
		return protocol.ArenaJoined{}, nil, err
	}
	return joined, func() { s.Audience.NotifyPlacesChanged(view.Plan.ID) }, nil
}

// givePlace gives a person the requested place.
func (s *Service) givePlace(ctx context.Context, r JoinRequest, plan *match.Plan) (PlaceReply, error) {
	switch role := match.Role(cmp.Or(r.As, string(match.PlayerRole))); role {
	case match.PlayerRole:
		return s.giveSeat(ctx, r, plan)
	case match.HostRole:
		if r.Player != plan.Arena.Host {
			return PlaceReply{}, notHostError()
		}
		return checkPlace(s.Seats.AddWatcher(ctx, plan.ID, r.Player, role))
	case match.SpectatorRole:
		return checkPlace(s.Seats.AddWatcher(ctx, plan.ID, r.Player, role))
	}
	return PlaceReply{}, badRequestError("as is invalid; use player, spectator or host")
}

// giveSeat gives a player a seat. It first records that the player is in the
// match, so that no player with a seat plays in another match. If the node dies
// between these two steps, the record is stale and does not count.
func (s *Service) giveSeat(ctx context.Context, r JoinRequest, plan *match.Plan) (PlaceReply, error) {
	if r.Role != identity.RolePlayer {
		return PlaceReply{}, protocol.Errorf(protocol.CodeForbidden, "a seat requires a token with role player; join as host or spectator")
	}
	teams := make([]string, len(plan.Arena.Teams))
	for i, t := range plan.Arena.Teams {
		teams[i] = t.ID
	}
	if r.Team != "" && !slices.Contains(teams, r.Team) {
		return PlaceReply{}, badRequestError("team is unknown; use the id of a team of the arena, or leave it out for the smallest team")
	}
	seat, err := s.Players.Seat(ctx, r.Game, r.Player)
	if err != nil {
		return PlaceReply{}, err
	}
	seat.Team, seat.Rating = r.Team, nil // arenas are not rated
	if err := s.Activities.Occupy(ctx, r.Game, r.Player, plan.ID); err != nil {
		return PlaceReply{}, err
	}
	reply, err := s.Seats.AddSeat(ctx, SeatRequest{Match: plan.ID, Seat: seat, Teams: teams, MaxSeats: plan.Arena.MaxPlayers, AllowLate: plan.Arena.LateJoin})
	if err != nil || reply.Verdict == VerdictIn {
		return reply, err
	}
	if err := s.Activities.Free(ctx, r.Game, r.Player, plan.ID); err != nil {
		s.Logger.Warn("player not freed after a refused seat; the stale match is ignored", "match", plan.ID, "error", err)
	}
	return checkPlace(reply, nil)
}

// checkPlace returns the refusal for a verdict other than VerdictIn.
func checkPlace(reply PlaceReply, err error) (PlaceReply, error) {
	if err != nil {
		return PlaceReply{}, err
	}
	switch reply.Verdict {
	case VerdictIn:
		return reply, nil
	case VerdictFull:
		return PlaceReply{}, protocol.Errorf(protocol.CodeArenaFull, "the arena is full; you may watch as a spectator")
	case VerdictStarted, VerdictLeft:
		return PlaceReply{}, protocol.Errorf(protocol.CodeArenaStarted, "the match has started; you may watch as a spectator")
	case VerdictLocked:
		return PlaceReply{}, protocol.Errorf(protocol.CodeArenaLocked, "the host has locked the arena; you may watch as a spectator")
	case VerdictBanned:
		return PlaceReply{}, protocol.Errorf(protocol.CodeKicked, "the host has banned you from this arena")
	}
	return PlaceReply{}, notFoundError()
}

// JoinInfo has the values of an arena that the server needs before a person joins.
type JoinInfo struct {
	ID         string
	MaxPlayers int
	IsOver     bool
}

// FindJoinInfo returns the join info of the arena with a code.
func (s *Service) FindJoinInfo(ctx context.Context, game, code string) (JoinInfo, error) {
	view, err := s.readByCode(ctx, game, code)
	if err != nil {
		return JoinInfo{}, err
	}
	return JoinInfo{ID: view.Plan.Arena.ID, MaxPlayers: view.Plan.Arena.MaxPlayers, IsOver: publicState(view.Phase) == stateOver}, nil
}

// Show describes an arena to a person who has its code.
func (s *Service) Show(ctx context.Context, game, code string) (protocol.ArenaLook, error) {
	view, err := s.readByCode(ctx, game, code)
	if err != nil {
		return protocol.ArenaLook{}, err
	}
	a := view.Plan.Arena
	var lateJoin string
	if a.LateJoin {
		lateJoin = lateJoinZero
	}
	return protocol.ArenaLook{
		ArenaID: a.ID, Name: a.Name, Mode: string(view.Plan.Mode), State: publicState(view.Phase),
		Teams: view.TeamCounts(a), Players: view.Players, LateJoin: lateJoin,
	}, nil
}
