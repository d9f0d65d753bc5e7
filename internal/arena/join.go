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
	joined, then, err := s.join(ctx, r)
	s.metrics.joins.WithLabelValues(outcome(err, joined.As)).Inc()
	if err != nil {
		return protocol.ArenaJoined{}, func() {}, err
	}
	return joined, then, nil
}

func (s *Service) join(ctx context.Context, r JoinRequest) (protocol.ArenaJoined, func(), error) {
	v, err := s.readByCode(ctx, r.Game, r.Code)
	if err != nil {
		return protocol.ArenaJoined{}, nil, err
	}
	reply, err := s.givePlace(ctx, r, v.Plan)
	if err != nil {
		return protocol.ArenaJoined{}, nil, err
	}
	if v, err = s.readArena(ctx, r.Game, v.Plan.ID); err != nil { // including the new place
		return protocol.ArenaJoined{}, nil, err
	}
	a := v.Plan.Arena
	joined := protocol.ArenaJoined{
		ArenaID: a.ID, Mode: string(v.Plan.Mode), Name: a.Name, As: string(reply.Role), Team: reply.Team,
		Teams: v.TeamCounts(a), Players: v.Players, State: publicState(v.Phase),
	}
	if joined.State != stateLobby {
		joined.Match = v.Plan.ID
	}
	if err := s.Matches.AttachFrom(ctx, v.Plan.ID, r.Player, v.Seq); err != nil {
		return protocol.ArenaJoined{}, nil, err
	}
	return joined, func() { s.Matches.NotifyPlacesChanged(v.Plan.ID) }, nil
}

// givePlace gives a person the requested place.
func (s *Service) givePlace(ctx context.Context, r JoinRequest, p *match.Plan) (PlaceReply, error) {
	switch role := match.Role(cmp.Or(r.As, string(match.AsPlayer))); role {
	case match.AsPlayer:
		return s.giveSeat(ctx, r, p)
	case match.AsHost:
		if r.Player != p.Arena.Host {
			return PlaceReply{}, notHost()
		}
		return checkPlace(s.Seats.AddWatcher(ctx, p.ID, r.Player, role))
	case match.AsSpectator:
		return checkPlace(s.Seats.AddWatcher(ctx, p.ID, r.Player, role))
	}
	return PlaceReply{}, badRequest("as is invalid; use player, spectator or host")
}

// giveSeat gives a player a seat. It first records that the player is in the
// match, so that no player with a seat plays in another match. If the node dies
// between these two steps, the record is stale and does not count.
func (s *Service) giveSeat(ctx context.Context, r JoinRequest, p *match.Plan) (PlaceReply, error) {
	if r.Role != identity.RolePlayer {
		return PlaceReply{}, newRefusal(protocol.CodeForbidden, "a seat requires a token with role player; join as host or spectator")
	}
	teams := make([]string, len(p.Arena.Teams))
	for i, t := range p.Arena.Teams {
		teams[i] = t.ID
	}
	if r.Team != "" && !slices.Contains(teams, r.Team) {
		return PlaceReply{}, badRequest("team is unknown; use the id of a team of the arena, or leave it out for the smallest team")
	}
	seat, err := s.Players.Seat(ctx, r.Game, r.Player)
	if err != nil {
		return PlaceReply{}, err
	}
	seat.Team, seat.Rating = r.Team, nil // arenas are not rated
	if err := s.occupy(ctx, r, p.ID); err != nil {
		return PlaceReply{}, err
	}
	reply, err := s.Seats.AddSeat(ctx, SeatRequest{Match: p.ID, Seat: seat, Teams: teams, Max: p.Arena.MaxPlayers})
	if err != nil || reply.Verdict == In {
		return reply, err
	}
	if err := s.Activities.Free(ctx, r.Game, r.Player, p.ID); err != nil {
		s.Logger.Warn("player not freed after a refused seat; the stale match is ignored", "match", p.ID, "error", err)
	}
	return checkPlace(reply, nil)
}

// checkPlace returns the refusal for a verdict other than VerdictIn.
func checkPlace(reply PlaceReply, err error) (PlaceReply, error) {
	if err != nil {
		return PlaceReply{}, err
	}
	switch reply.Verdict {
	case In:
		return reply, nil
	case Full:
		return PlaceReply{}, newRefusal(protocol.CodeArenaFull, "the arena is full; you may watch as a spectator")
	case Started, Left:
		return PlaceReply{}, newRefusal(protocol.CodeArenaStarted, "the match has started; you may watch as a spectator")
	case Locked:
		return PlaceReply{}, newRefusal(protocol.CodeArenaLocked, "the host has locked the arena; you may watch as a spectator")
	case Banned:
		return PlaceReply{}, newRefusal(protocol.CodeKicked, "the host has banned you from this arena")
	}
	return PlaceReply{}, notFound()
}
