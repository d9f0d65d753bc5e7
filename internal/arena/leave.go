package arena

import (
	"context"

	"laststand/internal/identity"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

// Leave ends somebody's place in an arena. A player of one that is played
// forfeits.
func (s *Service) Leave(ctx context.Context, game, who, arenaID string) error {
	v, err := s.find(ctx, game, arenaID)
	if err != nil {
		return err
	}
	sat, err := s.Seats.RemovePlace(ctx, v.Plan.ID, who, 0)
	if err != nil {
		return err
	}
	if (sat.Verdict == Out || sat.Verdict == Banned) && sat.Role == "" {
		return refused(protocol.CodeNotInMatch, "you have no place in this arena")
	}
	return s.dismiss(ctx, v.Plan, who, nil)
}

// bansPerPlace is how many players the host of an arena may ban for each place
// that it has.
const bansPerPlace = 4

// Kick ends somebody's place in an arena for its host, with a ban for good. For a
// ban there must be a place: else invented ids would fill the store.
func (s *Service) Kick(ctx context.Context, game, host string, k protocol.ArenaKick) error {
	v, err := s.hosted(ctx, game, host, k.ArenaID)
	if err != nil {
		return err
	}
	if k.Player == host || !identity.ValidID(k.Player) {
		return bad("player is the id of somebody in the arena, other than yourself")
	}
	bans := 0
	if k.Ban {
		bans = bansPerPlace * v.Plan.Arena.MaxPlayers
	}
	sat, err := s.Seats.RemovePlace(ctx, v.Plan.ID, k.Player, bans)
	switch {
	case err != nil:
		return err
	case k.Ban && sat.Verdict == Out && sat.Role == "":
		return refused(protocol.CodeNotFound, "player is not in this arena; only who plays or watches can be banned")
	case k.Ban && sat.Verdict == Full:
		return bad("this arena has %d bans, and may have no more; kick without ban, or lock the arena", bans)
	}
	end := protocol.ArenaEnd{ArenaID: k.ArenaID, Reason: "kicked"}
	if k.Ban {
		end.Reason = "banned"
	}
	return s.dismiss(ctx, v.Plan, k.Player, protocol.EncodePush(protocol.TypeArenaKicked, end))
}

// dismiss lets go of somebody whose place has ended: out of the feed, with a
// last frame or none, and free for something else. Where that fails it may be
// asked for again.
func (s *Service) dismiss(ctx context.Context, p *match.Plan, who string, frame []byte) error {
	s.Matches.Expel(ctx, p.ID, who, frame)
	s.Matches.NotifyPlacesChanged(p.ID)
	return s.Busy.Free(ctx, p.Game, who, p.ID)
}
