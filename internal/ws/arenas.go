package ws

import (
	"context"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// Arenas handles the requests for matches with many players; *arena.Service implements
// it. A refusal is a *protocol.Error. Join also returns a function, never nil, that the
// caller runs after the reply.
type Arenas interface {
	Join(ctx context.Context, req arena.JoinRequest) (protocol.ArenaJoined, func(), error)
	Leave(ctx context.Context, game, player, arenaID string) error
	Start(ctx context.Context, game, caller, arenaID string) error
	Close(ctx context.Context, game, caller, arenaID string) error
	Lock(ctx context.Context, game, caller, arenaID string) error
	Next(ctx context.Context, game, caller string, next protocol.ArenaNext) error
	Kick(ctx context.Context, game, caller string, kick protocol.ArenaKick) error
}

func (r *requests) onArenaJoin(ctx context.Context, req request) (func(), error) {
	var join protocol.ArenaJoin
	if err := req.Decode(&join); err != nil {
		return doNothing, err
	}
	if r.server.draining.Load() {
		return doNothing, drainingError()
	}
	if join.As == "" || join.As == string(match.PlayerRole) {
		if err := r.server.Limits.checkJoin(r.playerKey(), r.addressKey()); err != nil {
			return doNothing, err
		}
	}
	if err := r.checkArenaLoad(join.As); err != nil {
		return doNothing, err
	}
	var joined protocol.ArenaJoined
	afterReply := doNothing
	attempt := overload.Attempt{Address: r.addressKey(), Player: r.playerKey(), Secret: arena.CodeKey(r.game, join.Code)}
	err := r.server.Limits.CodeAttempts.Try(ctx, attempt, func() (err error) {
		joined, afterReply, err = r.server.Arenas.Join(ctx, arena.JoinRequest{
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
		return r.server.LoadShedder.Check(overload.Watching)
	}
	return r.server.LoadShedder.Check(overload.Joining)
}

// arenaHandler makes the handler of a request whose only data is an arena's id. The
// handler runs call and replies with an empty message of type replyType.
func arenaHandler(replyType string, call func(arenas Arenas, ctx context.Context, game, caller, arenaID string) error) func(*requests, context.Context, request) (func(), error) {
	return func(r *requests, ctx context.Context, req request) (func(), error) {
		var arenaRef protocol.ArenaRef
		if err := req.Decode(&arenaRef); err != nil {
			return doNothing, err
		}
		if err := call(r.server.Arenas, ctx, r.game, r.player, arenaRef.ArenaID); err != nil {
			return doNothing, err
		}
		r.reply(req, replyType, protocol.Empty{})
		return doNothing, nil
	}
}

func (r *requests) onArenaNext(ctx context.Context, req request) (func(), error) {
	var next protocol.ArenaNext
	if err := req.Decode(&next); err != nil {
		return doNothing, err
	}
	if err := r.server.Arenas.Next(ctx, r.game, r.player, next); err != nil {
		return doNothing, err
	}
	r.reply(req, protocol.TypeArenaOK, protocol.Empty{})
	return doNothing, nil
}

func (r *requests) onArenaKick(ctx context.Context, req request) (func(), error) {
	var kick protocol.ArenaKick
	if err := req.Decode(&kick); err != nil {
		return doNothing, err
	}
	if err := r.server.Arenas.Kick(ctx, r.game, r.player, kick); err != nil {
		return doNothing, err
	}
	r.reply(req, protocol.TypeArenaOK, protocol.Empty{})
	return doNothing, nil
}
