package arena

import (
	"context"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Leave ends a place in an arena. A player of a running match forfeits.
func (s *Service) Leave(ctx context.Context, game, player, arenaID string) error {
	view, err := s.readByID(ctx, game, arenaID)
	if err != nil {
		return err
	}
	reply, err := s.Seats.RemovePlace(ctx, view.Plan.ID, player, 0)
	if err != nil {
		return err
	}
	if (reply.Verdict == VerdictOut || reply.Verdict == VerdictBanned) && reply.Role == "" {
		return protocol.Errorf(protocol.CodeNotInMatch, "you have no place in this arena")
	}
	return s.endPlace(ctx, view.Plan, player, nil)
}

// bansPerPlace is how many players the host may ban per place of the arena.
const bansPerPlace = 4

// Kick ends a person's place in an arena on request of the host, optionally with
// a permanent ban. Only a person with a place can be banned. Otherwise a host
// could fill the store with bans of invented ids.
func (s *Service) Kick(ctx context.Context, game, host string, kick protocol.ArenaKick) error {
	view, err := s.readAsHost(ctx, game, host, kick.ArenaID)
	if err != nil {
		return err
	}
	if kick.Player == host || !identity.ValidID(kick.Player) {
		return badRequestError("player is invalid; use the id of another person in the arena")
	}
	bans := 0
	if kick.Ban {
		bans = bansPerPlace * view.Plan.Arena.MaxPlayers
	}
	reply, err := s.Seats.RemovePlace(ctx, view.Plan.ID, kick.Player, bans)
	switch {
	case err != nil:
		return err
	case kick.Ban && reply.Verdict == VerdictOut && reply.Role == "":
		return protocol.Errorf(protocol.CodeNotFound, "player is not in this arena; only players and watchers can be banned")
	case kick.Ban && reply.Verdict == VerdictFull:
		return badRequestError("this arena has its maximum of %d bans; kick without ban, or lock the arena", bans)
	}
	end := protocol.ArenaEnd{ArenaID: kick.ArenaID, Reason: "kicked"}
	if kick.Ban {
		end.Reason = "banned"
	}
	return s.endPlace(ctx, view.Plan, kick.Player, protocol.EncodePush(protocol.TypeArenaKicked, end))
}

// endPlace finishes the end of a person's place. It removes the session from the
// arena, with a last frame unless frame is nil, and frees the player for other
// matches. After an error it may be called again.
func (s *Service) endPlace(ctx context.Context, plan *match.Plan, player string, frame []byte) error {
	s.Audience.Expel(ctx, plan.ID, player, frame)
	s.Audience.NotifyPlacesChanged(plan.ID)
	return s.Activities.Free(ctx, plan.Game, player, plan.ID)
}
