package ws

import (
	"context"
	"encoding/json"
	"time"

	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

func (se *session) onPing(_ context.Context, req request) (func(), error) {
	var ping protocol.Ping
	if err := req.Decode(&ping); err != nil {
		return doNothing, err
	}
	if !isNumberOrText(ping.At) {
		return doNothing, protocol.Errorf(protocol.CodeBadRequest, "at must be a number or a text")
	}
	se.reply(req, protocol.TypePong, protocol.Pong{At: ping.At, ServerAt: se.server.Now()})
	return doNothing, nil
}

func (se *session) onDuelJoin(ctx context.Context, req request) (func(), error) {
	var join protocol.DuelJoin
	if err := req.Decode(&join); err != nil {
		return doNothing, err
	}
	switch {
	case se.server.draining.Load():
		return doNothing, drainingError()
	case se.claims.Role != identity.RolePlayer:
		return doNothing, protocol.Errorf(protocol.CodeForbidden, "only role player can join duels; role host joins arenas")
	}
	if err := se.server.Limits.checkDuelJoin(overload.ObjectKey(se.game, se.player), se.addressKey()); err != nil {
		return doNothing, err
	}
	if err := se.server.LoadShedder.Check(overload.Joining); err != nil {
		return doNothing, err
	}
	acquired, err := se.acquireDuelPlace()
	if err != nil {
		return doNothing, err
	}
	queued, afterReply, err := se.server.Lobby.Join(ctx, lobby.Request{
		Game: se.game, Player: se.player, BotAfterMS: join.BotAfterMS, Address: se.address,
		Filter: lobby.Filter{Category: join.Category, Lang: join.Lang, Difficulty: join.Difficulty},
	})
	if err != nil {
		if acquired && !se.server.Lobby.HasTicket(se.game, se.player) {
			se.releaseDuelPlace()
		}
		return afterReply, err
	}
	se.reply(req, protocol.TypeDuelQueued, queued)
	return se.countMatch(afterReply), nil
}

func (se *session) onDuelLeave(ctx context.Context, req request) (func(), error) {
	if err := req.Decode(&protocol.Empty{}); err != nil {
		return doNothing, err
	}
	if err := se.server.Lobby.Leave(ctx, se.game, se.player); err != nil {
		return doNothing, err
	}
	if !se.inMatch() {
		se.releaseDuelPlace()
	}
	se.reply(req, protocol.TypeDuelLeft, protocol.Empty{})
	return doNothing, nil
}

func (se *session) onAnswer(ctx context.Context, req request) (func(), error) {
	startedAt := time.Now()
	var answer protocol.Answer
	if err := req.Decode(&answer); err != nil {
		return doNothing, se.answerDecodeError(ctx, req, err)
	}
	answered, afterReply, err := se.server.Engine.Answer(ctx, match.Submission{Player: se.player, ArrivedAt: req.receivedAt, Answer: answer})
	if err != nil {
		return afterReply, err
	}
	se.reply(req, protocol.TypeAnswered, answered)
	se.server.metrics.answerSeconds.Observe(time.Since(startedAt).Seconds())
	return afterReply, nil
}

// answerDecodeError returns the error reply to an answer that cannot be decoded. If the
// player has no seat in the match, it returns that error instead.
func (se *session) answerDecodeError(ctx context.Context, req request, decodeErr error) error {
	var matchRef struct {
		Match string `json:"match"`
	}
	if json.Unmarshal(req.Data, &matchRef) != nil {
		return decodeErr
	}
	if err := se.server.Engine.CheckSeat(ctx, matchRef.Match, se.player); err != nil {
		return err
	}
	return decodeErr
}

func (se *session) onMatchSync(ctx context.Context, req request) (func(), error) {
	var resume protocol.Resume
	if err := req.Decode(&resume); err != nil {
		return doNothing, err
	}
	return doNothing, se.syncMatch(ctx, req, resume)
}

// syncMatch replies with a match's state, and sends the pushes after resume.Seq, which
// the client has missed.
func (se *session) syncMatch(ctx context.Context, req request, resume protocol.Resume) error {
	if resume.Seq < 0 {
		return protocol.Errorf(protocol.CodeBadRequest, "seq must not be negative; send the number of the last push seen, 0 for none")
	}
	return se.server.Engine.Attach(ctx, match.AttachRequest{
		Match: resume.Match, Player: se.player, Session: se, AfterSeq: resume.Seq,
		OnState:     func(state protocol.MatchState) { se.reply(req, protocol.TypeMatchState, state) },
		CheckReplay: se.checkReplay,
	})
}

func (se *session) onMatchLeave(ctx context.Context, req request) (func(), error) {
	var leave protocol.MatchLeave
	if err := req.Decode(&leave); err != nil {
		return doNothing, err
	}
	isEarlyForfeit, err := se.leaveMatch(ctx, leave.Match)
	if err != nil {
		return doNothing, err
	}
	se.reply(req, protocol.TypeMatchLeft, protocol.Empty{})
	if isEarlyForfeit {
		return se.countEarlyForfeit, nil
	}
	return doNothing, nil
}

// countEarlyForfeit counts a duel that the player has left before the first question
// closed. Such a forfeit costs the player no points, so a limit must stop repetitions.
func (se *session) countEarlyForfeit() { se.countAction(se.server.Limits.EarlyForfeits) }

// leaveMatch forfeits a match; an arena's match continues without the player.
// isEarlyForfeit is true if the forfeit ended a duel before its first question closed.
func (se *session) leaveMatch(ctx context.Context, matchID string) (isEarlyForfeit bool, err error) {
	if err := se.server.Engine.CheckSeat(ctx, matchID, se.player); err != nil {
		return false, err
	}
	status, err := se.server.Engine.Status(ctx, matchID)
	if err != nil {
		return false, err
	}
	if status.ArenaID != "" {
		return false, se.server.Arenas.Leave(ctx, se.game, se.player, status.ArenaID)
	}
	if err := se.server.Engine.Leave(ctx, matchID, se.player); err != nil {
		return false, err
	}
	return status.Running && se.server.Engine.HasForfeitedEarly(matchID, se.player), nil
}

// drainingError returns the error reply to a join at a node that is draining.
func drainingError() error {
	return protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "this node is draining; reconnect to another node")
}

// isNumberOrText returns true if a JSON value is a number or a string.
func isNumberOrText(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
