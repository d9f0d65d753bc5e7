package ws

import (
	"context"
	"encoding/json"
	"time"

	"laststand/internal/identity"
	"laststand/internal/limit"
	"laststand/internal/loadshed"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/protocol"
)

func (se *session) onPing(_ context.Context, r request) (func(), error) {
	var p protocol.Ping
	if err := r.Decode(&p); err != nil {
		return noop, err
	}
	if !isNumberOrText(p.At) {
		return noop, protocol.Errorf(protocol.CodeBadRequest, "at must be a number or a text")
	}
	se.reply(r, protocol.TypePong, protocol.Pong{At: p.At, ServerAt: se.server.Now()})
	return noop, nil
}

func (se *session) onDuelJoin(ctx context.Context, r request) (func(), error) {
	var j protocol.DuelJoin
	if err := r.Decode(&j); err != nil {
		return noop, err
	}
	switch {
	case se.server.draining.Load():
		return noop, drainingError()
	case se.claims.Role != identity.RolePlayer:
		return noop, protocol.Errorf(protocol.CodeForbidden, "only role player can join duels; role host joins arenas")
	}
	if err := se.server.Limits.checkDuelJoin(limit.Named(se.game, se.player), se.addressKey()); err != nil {
		return noop, err
	}
	if err := se.server.LoadShedder.Check(loadshed.Joining); err != nil {
		return noop, err
	}
	acquired, err := se.acquireDuel()
	if err != nil {
		return noop, err
	}
	queued, then, err := se.server.Lobby.Join(ctx, lobby.Request{
		Game: se.game, Player: se.player, BotAfterMS: j.BotAfterMS, Address: se.address,
		Filter: lobby.Filter{Category: j.Category, Lang: j.Lang, Difficulty: j.Difficulty},
	})
	if err != nil {
		if acquired && !se.server.Lobby.HasTicket(se.game, se.player) {
			se.releaseDuel()
		}
		return then, err
	}
	se.reply(r, protocol.TypeDuelQueued, queued)
	return se.countMatchThen(then), nil
}

func (se *session) onDuelLeave(ctx context.Context, r request) (func(), error) {
	if err := r.Decode(&protocol.Empty{}); err != nil {
		return noop, err
	}
	if err := se.server.Lobby.Leave(ctx, se.game, se.player); err != nil {
		return noop, err
	}
	if !se.inMatch() {
		se.releaseDuel()
	}
	se.reply(r, protocol.TypeDuelLeft, protocol.Empty{})
	return noop, nil
}

func (se *session) onAnswer(ctx context.Context, r request) (func(), error) {
	began := time.Now()
	var a protocol.Answer
	if err := r.Decode(&a); err != nil {
		return noop, se.answerDecodeError(ctx, r, err)
	}
	answered, then, err := se.server.Engine.Answer(ctx, match.Submission{Player: se.player, At: r.receivedAt, Answer: a})
	if err != nil {
		return then, err
	}
	se.reply(r, protocol.TypeAnswered, answered)
	se.server.metrics.answerSeconds.Observe(time.Since(began).Seconds())
	return then, nil
}

// answerDecodeError returns the error reply to an answer that cannot be decoded. If the
// player has no seat in the match, it returns that error instead.
func (se *session) answerDecodeError(ctx context.Context, r request, decodeErr error) error {
	var named struct {
		Match string `json:"match"`
	}
	if json.Unmarshal(r.Data, &named) != nil {
		return decodeErr
	}
	if err := se.server.Engine.CheckSeat(ctx, named.Match, se.player); err != nil {
		return err
	}
	return decodeErr
}

func (se *session) onMatchSync(ctx context.Context, r request) (func(), error) {
	var s protocol.Resume
	if err := r.Decode(&s); err != nil {
		return noop, err
	}
	return noop, se.syncMatch(ctx, r, s)
}

// syncMatch replies with a match's state, and sends the pushes after resume.Seq, which
// the client has missed.
func (se *session) syncMatch(ctx context.Context, r request, s protocol.Resume) error {
	if s.Seq < 0 {
		return protocol.Errorf(protocol.CodeBadRequest, "seq must not be negative; send the number of the last push seen, 0 for none")
	}
	return se.server.Engine.Attach(ctx, match.Attachment{
		Match: s.Match, Player: se.player, Sub: se, After: s.Seq,
		OnState:     func(state protocol.MatchState) { se.reply(r, protocol.TypeMatchState, state) },
		CheckReplay: se.checkReplay,
	})
}

func (se *session) onMatchLeave(ctx context.Context, r request) (func(), error) {
	var m protocol.MatchLeave
	if err := r.Decode(&m); err != nil {
		return noop, err
	}
	early, err := se.leaveMatch(ctx, m.Match)
	if err != nil {
		return noop, err
	}
	se.reply(r, protocol.TypeMatchLeft, protocol.Empty{})
	if early {
		return se.countEarlyForfeit, nil
	}
	return noop, nil
}

// countEarlyForfeit counts a duel that the player has left before the first question
// closed. Such a forfeit costs the player no points, so a limit must stop repetitions.
func (se *session) countEarlyForfeit() { se.countAction(se.server.Limits.EarlyForfeits) }

// leaveMatch forfeits a match; an arena's match continues without the player. early is
// true if the forfeit ended a duel before its first question closed.
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

// drainingError returns the error reply to a join at a node that is draining.
func drainingError() error {
	return protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "this node is draining; reconnect to another node")
}

// isNumberOrText returns true if a JSON value is a number or a string.
func isNumberOrText(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
