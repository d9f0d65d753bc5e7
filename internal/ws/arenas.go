package ws

import (
	"context"

	"laststand/internal/arena"
	"laststand/internal/limit"
	"laststand/internal/match"
	"laststand/internal/pressure"
	"laststand/internal/protocol"
)

// Arenas is where players gather for a match of many; *arena.Service. Its
// refusals are *protocol.Error. What Join gives beside the reply is done after
// it; it is never nil.
type Arenas interface {
	Join(ctx context.Context, r arena.JoinRequest) (protocol.ArenaJoined, func(), error)
	Leave(ctx context.Context, game, player, arenaID string) error
	Start(ctx context.Context, game, caller, arenaID string) error
	Close(ctx context.Context, game, caller, arenaID string) error
	Lock(ctx context.Context, game, caller, arenaID string) error
	Next(ctx context.Context, game, caller string, n protocol.ArenaNext) error
	Kick(ctx context.Context, game, caller string, k protocol.ArenaKick) error
}

func (se *session) onArenaJoin(ctx context.Context, r request) (func(), error) {
	var j protocol.ArenaJoin
	if err := r.Decode(&j); err != nil {
		return nothing, err
	}
	if se.server.draining.Load() {
		return nothing, leavingNode()
	}
	if j.As == "" || j.As == string(match.AsPlayer) {
		if err := se.server.Limits.join(limit.Named(se.game, se.player), se.from()); err != nil {
			return nothing, err
		}
	}
	if err := se.shed(j.As); err != nil {
		return nothing, err
	}
	var joined protocol.ArenaJoined
	then := nothing
	guess := limit.Guess{From: se.from(), By: limit.Named(se.game, se.player), Secret: arena.CodeKey(se.game, j.Code)}
	err := se.server.Limits.Codes.Try(ctx, guess, func() (err error) {
		joined, then, err = se.server.Arenas.Join(ctx, arena.JoinRequest{
			Game: se.game, Player: se.player, Role: se.claims.Role, ArenaJoin: j,
		})
		return err
	})
	if err != nil {
		return then, err
	}
	se.reply(r, protocol.TypeArenaJoined, joined)
	if joined.As != string(match.AsPlayer) {
		return then, nil
	}
	return se.countMatchThen(then), nil
}

// shed refuses who would join an arena where the node is hard-pressed: spectators
// first, its host never.
func (se *session) shed(as string) error {
	switch as {
	case string(match.AsHost):
		return nil
	case string(match.AsSpectator):
		return se.server.Pressure.Refuse(pressure.Watching)
	}
	return se.server.Pressure.Refuse(pressure.Joining)
}

// ofArena makes the handler of a request that names an arena and nothing else.
func ofArena(reply string, do func(a Arenas, ctx context.Context, game, caller, arenaID string) error) handler {
	return func(se *session, ctx context.Context, r request) (func(), error) {
		var of protocol.ArenaRef
		if err := r.Decode(&of); err != nil {
			return nothing, err
		}
		if err := do(se.server.Arenas, ctx, se.game, se.player, of.ArenaID); err != nil {
			return nothing, err
		}
		se.reply(r, reply, protocol.Empty{})
		return nothing, nil
	}
}

func (se *session) onArenaNext(ctx context.Context, r request) (func(), error) {
	var n protocol.ArenaNext
	if err := r.Decode(&n); err != nil {
		return nothing, err
	}
	if err := se.server.Arenas.Next(ctx, se.game, se.player, n); err != nil {
		return nothing, err
	}
	se.reply(r, protocol.TypeArenaOK, protocol.Empty{})
	return nothing, nil
}

func (se *session) onArenaKick(ctx context.Context, r request) (func(), error) {
	var k protocol.ArenaKick
	if err := r.Decode(&k); err != nil {
		return nothing, err
	}
	if err := se.server.Arenas.Kick(ctx, se.game, se.player, k); err != nil {
		return nothing, err
	}
	se.reply(r, protocol.TypeArenaOK, protocol.Empty{})
	return nothing, nil
}
