package ws

import (
	"context"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

func (r *requests) onArenaJoin(ctx context.Context, join protocol.ArenaJoin) (outcome, error) {
	if err := r.checkArenaJoin(join.As); err != nil {
		return outcome{}, err
	}
	var joined protocol.ArenaJoined
	var afterReply func()
	attempt := overload.Attempt{Address: r.addressKey(), Player: r.playerKey(), Secret: arena.CodeKey(r.game, join.Code)}
	err := r.services.Limits.CodeAttempts.Try(ctx, attempt, func() (err error) {
		joined, afterReply, err = r.services.Arenas.Join(ctx, arena.JoinRequest{
			Game: r.game, Player: r.player, Role: r.claims.Role, ArenaJoin: join,
		})
		return err
	})
	if err == nil && joined.As == string(match.PlayerRole) {
		afterReply = r.countMatch(afterReply)
	}
	return outcome{protocol.TypeArenaJoined, joined, afterReply}, err
}

// checkArenaJoin rejects a join while the node drains or is overloaded. Under rising load
// it rejects spectators first, then players too, and never a host. It also checks the limits
// of players. as is the requested role.
func (r *requests) checkArenaJoin(as string) error {
	if r.services.draining.Load() {
		return drainingError()
	}
	switch as {
	case string(match.HostRole):
		return nil
	case string(match.SpectatorRole):
		return r.services.LoadShedder.Check(overload.Watching)
	case "", string(match.PlayerRole):
		if err := r.services.Limits.Matches.Check(r.playerKey(), r.addressKey()); err != nil {
			return err
		}
	}
	return r.services.LoadShedder.Check(overload.Joining)
}

func (r *requests) onArenaExtend(ctx context.Context, extend protocol.ArenaExtend) (outcome, error) {
	extended, err := r.services.Arenas.Extend(ctx, r.game, r.player, extend)
	return outcome{replyType: protocol.TypeArenaExtended, reply: extended}, err
}
