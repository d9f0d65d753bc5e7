package ws

import (
	"context"
	"encoding/json"
	"time"

	"laststand/internal/identity"
	"laststand/internal/limit"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/pressure"
	"laststand/internal/protocol"
)

func (se *session) onPing(_ context.Context, r request) (func(), error) {
	var p protocol.Ping
	if err := r.Decode(&p); err != nil {
		return nothing, err
	}
	if !numberOrText(p.At) {
		return nothing, protocol.Errorf(protocol.CodeBadRequest, "at is a number or a text of the client's own")
	}
	se.reply(r, protocol.TypePong, protocol.Pong{At: p.At, ServerAt: se.server.Now()})
	return nothing, nil
}

func (se *session) onDuelJoin(ctx context.Context, r request) (func(), error) {
	var j protocol.DuelJoin
	if err := r.Decode(&j); err != nil {
		return nothing, err
	}
	switch {
	case se.server.draining.Load():
		return nothing, leavingNode()
	case se.claims.Role != identity.RolePlayer:
		return nothing, protocol.Errorf(protocol.CodeForbidden, "only players play; a token of role host joins arenas")
	}
	if err := se.server.Limits.joinDuel(limit.Named(se.game, se.player), se.from()); err != nil {
		return nothing, err
	}
	if err := se.server.Pressure.Refuse(pressure.Joining); err != nil {
		return nothing, err
	}
	entered, err := se.enterRoom()
	if err != nil {
		return nothing, err
	}
	queued, then, err := se.server.Lobby.Join(ctx, lobby.Request{
		Game: se.game, Player: se.player, BotAfterMS: j.BotAfterMS, Address: se.address,
		Filter: lobby.Filter{Category: j.Category, Lang: j.Lang, Difficulty: j.Difficulty},
	})
	if err != nil {
		if entered && !se.server.Lobby.HasTicket(se.game, se.player) {
			se.leaveRoom()
		}
		return then, err
	}
	se.reply(r, protocol.TypeDuelQueued, queued)
	return se.countMatchThen(then), nil
}

func (se *session) onDuelLeave(ctx context.Context, r request) (func(), error) {
	if err := r.Decode(&protocol.Empty{}); err != nil {
		return nothing, err
	}
	if err := se.server.Lobby.Leave(ctx, se.game, se.player); err != nil {
		return nothing, err
	}
	if !se.inMatch() {
		se.leaveRoom()
	}
	se.reply(r, protocol.TypeDuelLeft, protocol.Empty{})
	return nothing, nil
}

func (se *session) onAnswer(ctx context.Context, r request) (func(), error) {
	began := time.Now()
	var a protocol.Answer
	if err := r.Decode(&a); err != nil {
		return nothing, se.notInMatchFirst(ctx, r, err)
	}
	answered, then, err := se.server.Engine.Answer(ctx, match.Submission{Player: se.player, At: r.at, Answer: a})
	if err != nil {
		return then, err
	}
	se.reply(r, protocol.TypeAnswered, answered)
	se.server.metrics.answered.Observe(time.Since(began).Seconds())
	return then, nil
}

// notInMatchFirst is the refusal of an answer that cannot be read: that its
// match is not the player's comes first.
func (se *session) notInMatchFirst(ctx context.Context, r request, unread error) error {
	var named struct {
		Match string `json:"match"`
	}
	if json.Unmarshal(r.Data, &named) != nil {
		return unread
	}
	if err := se.server.Engine.CheckSeat(ctx, named.Match, se.player); err != nil {
		return err
	}
	return unread
}

func (se *session) onMatchSync(ctx context.Context, r request) (func(), error) {
	var s protocol.Resume
	if err := r.Decode(&s); err != nil {
		return nothing, err
	}
	return nothing, se.sync(ctx, r, s)
}

// sync replies where a match stands, and pushes what the client has missed.
func (se *session) sync(ctx context.Context, r request, s protocol.Resume) error {
	if s.Seq < 0 {
		return protocol.Errorf(protocol.CodeBadRequest, "seq is the number of the last push seen, 0 for none")
	}
	return se.server.Engine.Attach(ctx, match.Attachment{
		Match: s.Match, Player: se.player, Sub: se, After: s.Seq,
		OnState:     func(state protocol.MatchState) { se.reply(r, protocol.TypeMatchState, state) },
		CheckReplay: se.mayReplay,
	})
}

func (se *session) onMatchLeave(ctx context.Context, r request) (func(), error) {
	var m protocol.MatchLeave
	if err := r.Decode(&m); err != nil {
		return nothing, err
	}
	early, err := se.leaveMatch(ctx, m.Match)
	if err != nil {
		return nothing, err
	}
	se.reply(r, protocol.TypeMatchLeft, protocol.Empty{})
	if early {
		return se.countEarlyForfeit, nil
	}
	return nothing, nil
}

// countEarlyForfeit counts a duel that the player has left before a question was
// closed: it cost the player nothing.
func (se *session) countEarlyForfeit() { se.count(se.server.Limits.EarlyForfeits) }

// leaveMatch forfeits a match; an arena's goes on without the player. early says
// that this has ended a duel before a question of it was closed.
func (se *session) leaveMatch(ctx context.Context, id string) (early bool, err error) {
	if err := se.server.Engine.CheckSeat(ctx, id, se.player); err != nil {
		return false, err
	}
	m, err := se.server.Engine.Status(ctx, id)
	if err != nil {
		return false, err
	}
	if m.ArenaID != "" {
		return false, se.server.Arenas.Leave(ctx, se.game, se.player, m.ArenaID)
	}
	if err := se.server.Engine.Leave(ctx, id, se.player); err != nil {
		return false, err
	}
	return m.Running && se.server.Engine.ForfeitedEarly(id, se.player), nil
}

// leavingNode refuses what would keep players at a node that drains.
func leavingNode() error {
	return protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "this node is leaving; reconnect to another")
}

func numberOrText(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
