package ws

import (
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
)

func (r *requests) onPing(_ context.Context, req request) (func(), error) {
	var ping protocol.Ping
	if err := req.Decode(&ping); err != nil {
		return doNothing, err
	}
	if !isNumberOrText(ping.At) {
		return doNothing, protocol.Errorf(protocol.CodeBadRequest, "at must be a number or a text")
	}
	r.reply(req, protocol.TypePong, protocol.Pong{At: ping.At, ServerAt: r.services.Now()})
	return doNothing, nil
}

func (r *requests) onDuelJoin(ctx context.Context, req request) (func(), error) {
	var join protocol.DuelJoin
	if err := req.Decode(&join); err != nil {
		return doNothing, err
	}
	switch {
	case r.services.draining.Load():
		return doNothing, drainingError()
	case r.claims.Role != identity.RolePlayer:
		return doNothing, protocol.Errorf(protocol.CodeForbidden, "only role player can join duels; role host joins arenas")
	}
	if err := r.services.Limits.checkDuelJoin(r.playerKey(), r.addressKey()); err != nil {
		return doNothing, err
	}
	if err := r.services.LoadShedder.Check(overload.Joining); err != nil {
		return doNothing, err
	}
	if !r.inDuel.Load() && !r.services.Lobby.HasTicket(r.game, r.player) { // else Join refuses it
		release, err := r.services.LoadShedder.Acquire(overload.Duels)
		if err != nil {
			return doNothing, err
		}
		defer release()
	}
	queued, afterReply, err := r.services.Lobby.Join(ctx, lobby.Request{
		Game: r.game, Player: r.player, BotAfterMS: join.BotAfterMS, Address: r.address,
		Filter: lobby.Filter{Category: join.Category, Lang: join.Lang, Difficulty: join.Difficulty},
	})
	if err != nil {
		return afterReply, err
	}
	r.reply(req, protocol.TypeDuelQueued, queued)
	return r.countMatch(afterReply), nil
}

func (r *requests) onDuelLeave(ctx context.Context, req request) (func(), error) {
	if err := req.Decode(&protocol.Empty{}); err != nil {
		return doNothing, err
	}
	if err := r.services.Lobby.Leave(ctx, r.game, r.player); err != nil {
		return doNothing, err
	}
	r.reply(req, protocol.TypeDuelLeft, protocol.Empty{})
	return doNothing, nil
}

func (r *requests) onAnswer(ctx context.Context, req request) (func(), error) {
	startedAt := time.Now()
	var answer protocol.Answer
	if err := req.Decode(&answer); err != nil {
		return doNothing, r.answerDecodeError(ctx, req, err)
	}
	ctx, span := r.services.Tracer.Start(ctx, "answer")
	defer span.End()
	if span.IsRecording() {
		span.SetAttributes(attribute.String("laststand.match", answer.Match))
	}
	answered, afterReply, err := r.services.Engine.Answer(ctx, match.Submission{Player: r.player, ArrivedAt: req.receivedAt, Answer: answer})
	if err != nil {
		span.SetStatus(codes.Error, "the answer was refused")
		return afterReply, err
	}
	r.reply(req, protocol.TypeAnswered, answered)
	r.services.metrics.answerSeconds.Observe(time.Since(startedAt).Seconds())
	return afterReply, nil
}

// answerDecodeError returns the error reply to an answer that cannot be decoded. If the
// player has no seat in the match, it returns that error instead.
func (r *requests) answerDecodeError(ctx context.Context, req request, decodeErr error) error {
	var matchRef struct {
		Match string `json:"match"`
	}
	if json.Unmarshal(req.Data, &matchRef) != nil {
		return decodeErr
	}
	if err := r.services.Engine.CheckSeat(ctx, matchRef.Match, r.player); err != nil {
		return err
	}
	return decodeErr
}

func (r *requests) onMatchSync(ctx context.Context, req request) (func(), error) {
	var resume protocol.Resume
	if err := req.Decode(&resume); err != nil {
		return doNothing, err
	}
	return doNothing, r.syncMatch(ctx, req, resume)
}

// syncMatch replies with a match's state, and sends the pushes after resume.Seq, which
// the client has missed.
func (r *requests) syncMatch(ctx context.Context, req request, resume protocol.Resume) error {
	if resume.Seq < 0 {
		return protocol.Errorf(protocol.CodeBadRequest, "seq must not be negative; send the number of the last push seen, 0 for none")
	}
	return r.services.Engine.Attach(ctx, match.AttachRequest{
		Match: resume.Match, Player: r.player, Session: r.presence, AfterSeq: resume.Seq,
		OnState:     func(state protocol.MatchState) { r.reply(req, protocol.TypeMatchState, state) },
		CheckReplay: r.checkReplay,
	})
}

const (
	longReplayBytes     = 64 << 10 // a replay of a match's pushes that is larger is long
	bytesPerKiB         = 1 << 10
	replayBytesPerToken = 4 << 10 // bytes of a replay that cost one token of the session's bucket
)

// checkReplay refuses a long replay too soon after another of the same player, or if the
// client's address has used its limit of replays. An allowed replay charges the session's
// bucket by its size in bytes. A new connection does not reset the limits. Otherwise a client
// that reconnects and resumes would get a whole match log each time.
func (r *requests) checkReplay(bytes int64) error {
	limits, ctx := &r.services.Limits, context.Background() // these rules use no store
	if bytes > longReplayBytes {
		if err := limits.ReplaysPerPlayer.Check(ctx, r.playerKey()); err != nil {
			return err
		}
		if err := limits.Replays.Take(ctx, r.addressKey(), int(bytes/bytesPerKiB)); err != nil {
			return err
		}
		limits.ReplaysPerPlayer.Charge(ctx, r.playerKey(), 1)
	}
	r.limiter.charge(time.Now(), bytes/replayBytesPerToken)
	return nil
}

func (r *requests) onMatchLeave(ctx context.Context, req request) (func(), error) {
	var leave protocol.MatchLeave
	if err := req.Decode(&leave); err != nil {
		return doNothing, err
	}
	isEarlyForfeit, err := r.leaveMatch(ctx, leave.Match)
	if err != nil {
		return doNothing, err
	}
	r.reply(req, protocol.TypeMatchLeft, protocol.Empty{})
	if isEarlyForfeit {
		return r.countEarlyForfeit, nil
	}
	return doNothing, nil
}

// countEarlyForfeit counts a duel that the player has left before the first question
// closed. Such a forfeit costs the player no points, so a limit must stop repetitions.
func (r *requests) countEarlyForfeit() { r.countAction(r.services.Limits.EarlyForfeits) }

// leaveMatch forfeits a match; an arena's match continues without the player.
// isEarlyForfeit is true if the forfeit ended a duel before its first question closed.
func (r *requests) leaveMatch(ctx context.Context, matchID string) (isEarlyForfeit bool, err error) {
	if err := r.services.Engine.CheckSeat(ctx, matchID, r.player); err != nil {
		return false, err
	}
	status, err := r.services.Engine.Status(ctx, matchID)
	if err != nil {
		return false, err
	}
	if status.ArenaID != "" {
		return false, r.services.Arenas.Leave(ctx, r.game, r.player, status.ArenaID)
	}
	if err := r.services.Engine.Leave(ctx, matchID, r.player); err != nil {
		return false, err
	}
	return status.Running && r.services.Engine.HasForfeitedEarly(matchID, r.player), nil
}

// drainingError returns the error reply to a join at a node that is draining.
func drainingError() error {
	return protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "this node is draining; reconnect to another node")
}

// isNumberOrText returns true if a JSON value is a number or a string.
func isNumberOrText(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
