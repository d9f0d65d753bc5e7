package ws

import (
	"context"
	"encoding/json"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"laststand/internal/identity"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/timer"
)

func (r *requests) onPing(_ context.Context, ping protocol.Ping) (outcome, error) {
	if !isNumberOrText(ping.At) {
		return outcome{}, protocol.Errorf(protocol.CodeBadRequest, "at must be a number or a text")
	}
	return outcome{replyType: protocol.TypePong, reply: protocol.Pong{At: ping.At, ServerAt: r.services.Now()}}, nil
}

func (r *requests) onDuelJoin(ctx context.Context, join protocol.DuelJoin) (outcome, error) {
	switch {
	case r.services.draining.Load():
		return outcome{}, drainingError()
	case r.claims.Role != identity.RolePlayer:
		return outcome{}, protocol.Errorf(protocol.CodeForbidden, "only role player can join duels; role host joins arenas")
	}
	for _, limit := range []*overload.ActionLimit{r.services.Limits.EarlyForfeits, r.services.Limits.Matches} {
		if err := limit.Check(r.playerKey(), r.addressKey()); err != nil {
			return outcome{}, err
		}
	}
	if err := r.services.LoadShedder.Check(overload.Joining); err != nil {
		return outcome{}, err
	}
	if !r.inDuel.Load() && !r.services.Lobby.HasTicket(r.game, r.player) { // else Join refuses it
		release, err := r.services.LoadShedder.Acquire(overload.Duels)
		if err != nil {
			return outcome{}, err
		}
		defer release()
	}
	queued, afterReply, err := r.services.Lobby.Join(ctx, lobby.Request{
		Game: r.game, Player: r.player, BotAfterMS: join.BotAfterMS, Address: r.address,
		Filter: quiz.Filter{Category: join.Category, Lang: join.Lang, Difficulty: join.Difficulty},
	})
	if err == nil {
		afterReply = r.countMatch(afterReply)
	}
	return outcome{protocol.TypeDuelQueued, queued, afterReply}, err
}

func (r *requests) onDuelLeave(ctx context.Context, _ protocol.Empty) (outcome, error) {
	err := r.services.Lobby.Leave(ctx, r.game, r.player)
	return outcome{replyType: protocol.TypeDuelLeft, reply: protocol.Empty{}}, err
}

func (r *requests) onAnswer(ctx context.Context, req request) (outcome, error) {
	startedAt := time.Now()
	var answer protocol.Answer
	if err := req.Decode(&answer); err != nil {
		return outcome{}, r.answerDecodeError(ctx, req, err)
	}
	ctx, span := r.startSpan(ctx, answer.Match)
	defer span.End()
	answered, afterReply, err := r.services.Engine.Answer(ctx, match.Submission{Player: r.player, ArrivedAt: req.receivedAt, Answer: answer})
	if err != nil {
		span.SetStatus(codes.Error, "the answer was refused")
		return outcome{afterReply: afterReply}, err
	}
	r.reply(req, protocol.TypeAnswered, answered)
	r.services.metrics.answerSeconds.Observe(time.Since(startedAt).Seconds())
	return outcome{afterReply: afterReply}, nil
}

// startSpan starts the trace of an answer, if there is a tracer.
func (r *requests) startSpan(ctx context.Context, matchID string) (context.Context, trace.Span) {
	if r.services.Tracer == nil {
		return ctx, noop.Span{}
	}
	return r.services.Tracer.Start(ctx, "answer", trace.WithAttributes(attribute.String("laststand.match", matchID)))
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

func (r *requests) onMatchSync(ctx context.Context, req request) (outcome, error) {
	var resume protocol.Resume
	if err := req.Decode(&resume); err != nil {
		return outcome{}, err
	}
	return outcome{}, r.syncMatch(ctx, req, resume)
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
	r.limiter.charge(timer.SinceStart(), r.services.messages, bytes/replayBytesPerToken)
	return nil
}

// onMatchLeave counts a duel that the player leaves before the first question closes. Such a
// forfeit costs the player no points, so a limit must stop repetitions.
func (r *requests) onMatchLeave(ctx context.Context, leave protocol.MatchLeave) (outcome, error) {
	isEarlyForfeit, err := r.leaveMatch(ctx, leave.Match)
	left := outcome{replyType: protocol.TypeMatchLeft, reply: protocol.Empty{}}
	if isEarlyForfeit {
		left.afterReply = func() { r.countAction(r.services.Limits.EarlyForfeits) }
	}
	return left, err
}

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

func drainingError() error {
	return protocol.RetryAfter(protocol.CodeUnavailable, retryMS, "this node is draining; reconnect to another node")
}

func isNumberOrText(raw json.RawMessage) bool {
	return len(raw) > 0 && (raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9')
}
