package ws

import (
	"context"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

func (r *requests) onArenaJoin(ctx context.Context, req request) (func(), error) {
	var join protocol.ArenaJoin
	if err := req.Decode(&join); err != nil {
		return doNothing, err
	}
	if r.services.draining.Load() {
		return doNothing, drainingError()
	}
	if join.As == "" || join.As == string(match.PlayerRole) {
		if err := r.services.Limits.checkJoin(r.playerKey(), r.addressKey()); err != nil {
			return doNothing, err
		}
	}
	if err := r.checkArenaLoad(join.As); err != nil {
		return doNothing, err
	}
	var joined protocol.ArenaJoined
	afterReply := doNothing
	attempt := overload.Attempt{Address: r.addressKey(), Player: r.playerKey(), Secret: arena.CodeKey(r.game, join.Code)}
	err := r.services.Limits.CodeAttempts.Try(ctx, attempt, func() (err error) {
		joined, afterReply, err = r.services.Arenas.Join(ctx, arena.JoinRequest{
			Game: r.game, Player: r.player, Role: r.claims.Role, ArenaJoin: join,
		})
		return err
	})
	if err != nil {
		return afterReply, err
	}
	r.reply(req, protocol.TypeArenaJoined, joined)
	if joined.As != string(match.PlayerRole) {
		return afterReply, nil
	}
	return r.countMatch(afterReply), nil
}

// checkArenaLoad rejects a join while the node is overloaded. Under rising load it
// rejects spectators first, then players too, and never a host. as is the requested role.
func (r *requests) checkArenaLoad(as string) error {
	switch as {
	case string(match.HostRole):
		return nil
	case string(match.SpectatorRole):
		return r.services.LoadShedder.Check(overload.Watching)
	}
	return r.services.LoadShedder.Check(overload.Joining)
}

func (r *requests) onArenaExtend(ctx context.Context, req request) (func(), error) {
	var extend protocol.ArenaExtend
	if err := req.Decode(&extend); err != nil {
		return doNothing, err
	}
	extended, err := r.services.Arenas.Extend(ctx, r.game, r.player, extend)
	if err == nil {
		r.reply(req, protocol.TypeArenaExtended, extended)
	}
	return doNothing, err
}

// arenaHandler makes the handler of a request with data of type D. The handler runs call
// and replies with an empty message of type replyType.
func arenaHandler[D any](replyType string, call func(arenas Arenas, ctx context.Context, game, caller string, data D) error) func(*requests, context.Context, request) (func(), error) {
	return func(r *requests, ctx context.Context, req request) (func(), error) {
		var data D
		if err := req.Decode(&data); err != nil {
			return doNothing, err
		}
		if err := call(r.services.Arenas, ctx, r.game, r.player, data); err != nil {
			return doNothing, err
		}
		r.reply(req, replyType, protocol.Empty{})
		return doNothing, nil
	}
}

// withArenaID makes a call of arenaHandler from one that takes only the arena's id.
func withArenaID(call func(arenas Arenas, ctx context.Context, game, caller, arenaID string) error) func(Arenas, context.Context, string, string, protocol.ArenaRef) error {
	return func(arenas Arenas, ctx context.Context, game, caller string, ref protocol.ArenaRef) error {
		return call(arenas, ctx, game, caller, ref.ArenaID)
	}
}
