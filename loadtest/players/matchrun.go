package players

import (
	"cmp"
	"context"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// matchRun is the way of one member through one match, from the request to enter to the
// end of the match.
type matchRun struct {
	*member
	leave   context.Context // when it ends, the player stops waiting for a duel
	hosts   *arena          // the arena to host; nil: play
	seat    *seat           // the seat to take in an arena; nil: play a duel
	isAlone bool            // no other player is in the queue, so that no late match can come
	kind    string          // of the request to enter
	data    any

	since        time.Time // of the first request, and then of the newest push
	hasEntered   bool      // waits for the match, queued or seated
	hasMatch     bool      // a match has started
	isLeaving    bool      // takes the ticket back
	isRefused    bool      // will probably not get in
	refusals     int       // in a row
	playingSince time.Time // when the server first said that the player is already playing
	playingTries int

	retry    *request // the request to repeat at retryAt; nil: none
	retryAt  time.Time
	answer   *attempt // the answer to send at answerAt; nil: none
	answerAt time.Time
}

const (
	// startTimeout bounds how long a player with a seat waits for the match to start.
	startTimeout = 90 * time.Second
	// checkInterval is how often a player checks whether it must leave.
	checkInterval = 100 * time.Millisecond
)

// play enters a match and plays it to its end.
func (p *member) play(r *matchRun) (err error) {
	defer testenv.Recover(&err)
	r.member, r.since = p, time.Now()
	never := int64(0)
	r.kind, r.data = protocol.TypeDuelJoin, protocol.DuelJoin{Lang: "en", BotAfterMS: &never}
	if r.hosts != nil {
		r.kind, r.data = protocol.TypeArenaJoin, protocol.ArenaJoin{Code: r.hosts.made.Code, As: "host"}
	}
	if r.seat != nil {
		r.kind, r.data = protocol.TypeArenaJoin, protocol.ArenaJoin{Code: r.seat.arena.made.Code, Team: r.seat.team}
		defer func() {
			if !r.hasEntered {
				r.seat.arena.declined.Add(1)
			}
		}()
	}
	r.ask(r.kind, r.data)
	for !r.isDone() {
		r.sendDue(time.Now())
		r.receive(r.next(r.readContext(), r.nextDue()))
		r.checkSilence()
		r.checkConnection()
	}
	if r.hasMatch && r.hosts == nil {
		r.view.Finish()
		mode := "duel"
		if r.seat != nil && r.hasEntered {
			mode = r.seat.arena.Mode
		}
		p.group.Stats.Count("matches "+mode, 1)
	}
	return nil
}

// isDone reports whether the match is over, or none will come.
func (r *matchRun) isDone() bool {
	if r.isAwaitingReply(protocol.TypeAnswer, protocol.TypeDuelLeave, r.kind) {
		return false
	}
	if r.hasMatch {
		return !r.view.IsPlaying()
	}
	return r.isRefused && time.Now().After(r.retryAt)
}

// mustLeave reports whether a player of duels must take its ticket back.
func (r *matchRun) mustLeave() bool { return r.seat == nil && r.hosts == nil && r.leave.Err() != nil }

// readContext returns the context of the next read. A player that waits for nothing
// stops reading when it must leave.
func (r *matchRun) readContext() context.Context {
	if r.hasMatch || r.hasEntered || r.isLeaving || r.isRefused || r.retry != nil || r.seat != nil || r.hosts != nil || r.isAwaitingReply(r.kind) {
		return r.group.life
	}
	return r.leave
}

// nextDue returns the time of the next action that needs no frame.
func (r *matchRun) nextDue() time.Time {
	at := time.Now().Add(checkInterval)
	if r.hasMatch {
		at = at.Add(10 * checkInterval)
	}
	for _, due := range []time.Time{r.answerAt, r.retryAt} {
		if due.After(time.Now()) && due.Before(at) {
			at = due
		}
	}
	return at
}

// sendDue sends the requests that are due.
func (r *matchRun) sendDue(now time.Time) {
	r.sendAnswer(now)
	if r.hasMatch {
		return
	}
	if r.retry != nil && now.After(r.retryAt) {
		q := r.retry
		r.retry, r.retryAt = nil, time.Time{}
		r.ask(q.kind, q.data)
	}
	switch {
	case r.hosts != nil:
		r.startArena()
	case !r.mustLeave() || r.isLeaving || r.isRefused:
	case r.hasEntered, r.retry != nil: // a refused player may have a ticket nevertheless
		r.isLeaving, r.retry, r.retryAt = true, nil, time.Time{}
		r.ask(protocol.TypeDuelLeave, protocol.Empty{})
	case !r.isAwaitingReply(r.kind):
		r.isRefused = true
	}
}

// startArena lets a host start its arena when that is ready. Without players the host leaves.
func (r *matchRun) startArena() {
	isReady, hasPlayers := r.hosts.isReady(time.Since(r.since))
	switch {
	case !isReady, r.hosts.isStarted.Load():
	case !hasPlayers:
		r.isRefused = true
	default:
		r.hosts.isStarted.Store(true)
		r.since = time.Now()
		if r.hosts.ExtraTime && r.hosts.Mode != "buzzer" {
			r.ask(protocol.TypeArenaExtend, protocol.ArenaExtend{ArenaID: r.hosts.made.ArenaID, Player: *r.hosts.firstPlayer.Load(), Percent: 100})
		}
		r.ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: r.hosts.made.ArenaID})
	}
}

func (r *matchRun) receive(h received) {
	testenv.MustDo(r.view.Push(h.Frame, h.ReceivedAt.UnixMilli()+r.clockLeadMS))
	if h.Seq > 0 {
		r.handlePush(h)
		return
	}
	switch h.Type {
	case protocol.TypeMatchState:
		if !r.lostAt.IsZero() {
			r.group.Stats.Add(Resumed, h.ReceivedAt.Sub(r.lostAt))
			r.lostAt = time.Time{}
		}
	case "", protocol.TypeArenaLobby, protocol.TypeArenaOK, protocol.TypeArenaExtended, protocol.TypeDraining:
	case protocol.TypeOwnDeadline:
		r.useExtraTime(h)
	case protocol.TypeOwn:
		r.recordOwn(h)
	case protocol.TypeWelcome:
		r.enterAgain()
	case protocol.TypeDuelQueued, protocol.TypeArenaJoined:
		r.handleEntered()
	case protocol.TypeDuelLeft:
		r.handleLeft()
	case protocol.TypeError:
		r.handleRefusal(h)
	case protocol.TypeAnswered:
		r.handleAnswered(h)
	case protocol.TypeSettled:
		r.recordSettled(h)
	default:
		checker.BreachIf(true, "nobody asked for %s", h.Raw)
	}
}

// handlePush handles a numbered push of the match.
func (r *matchRun) handlePush(h received) {
	switch h.Type {
	case protocol.TypeMatchFound:
		if r.kind == protocol.TypeDuelJoin {
			r.group.Stats.Add(Found, h.ReceivedAt.Sub(r.since))
		}
		if r.hosts != nil {
			r.group.arenaMatch.Store(h.Match)
		}
		r.hasMatch = true
		if r.group.Habits.Cheats {
			r.answerElsewhere()
		}
	case protocol.TypeQuestion:
		if r.hosts == nil {
			r.planAnswer(h)
		}
	case protocol.TypeQuestionClosed:
		r.answer, r.answerAt = nil, time.Time{}
		if q, closed := r.view.Question(); closed != nil {
			r.group.solutions.learn(q, *closed)
		}
	case protocol.TypeMatchOver:
		r.answer, r.overAt = nil, h.ReceivedAt
	}
	r.since = h.ReceivedAt
}

// recordOwn records how long after the close of a question its result came to this player alone.
// The close of a question that all have answered is not told.
func (r *matchRun) recordOwn(h received) {
	own := decode[protocol.Own](h)
	if own.Match != r.view.Match() {
		return
	}
	q, closed := r.view.Asked(own.Question)
	if closed == nil || closed.Reason == "all_answered" {
		return
	}
	closedAt := r.view.LastClosesAt(own.Question)
	if closed.First != nil {
		closedAt = *cmp.Or(q.ReadsUntil, &q.OpensAt) + closed.First.ElapsedMS
	}
	r.group.Stats.Add(Own, time.Duration(h.ReceivedAt.UnixMilli()-closedAt)*time.Millisecond)
}

// recordSettled records how long the server took to settle the last match.
func (r *matchRun) recordSettled(h received) {
	if s := decode[protocol.Settled](h); s.Match == r.view.Match() && !r.overAt.IsZero() {
		r.group.Stats.Add(Settled, h.ReceivedAt.Sub(r.overAt))
		r.overAt = time.Time{}
	}
}

// checkSilence reports a match that does not start or does not continue.
func (r *matchRun) checkSilence() {
	silence := time.Since(r.since)
	switch {
	case r.hasMatch && r.view.IsPlaying() && silence > r.group.SilenceTimeout:
		checker.BreachIf(true, "%s has not continued for %v after %s", r.view.Match(), silence, r.view.Newest())
	case !r.hasMatch && r.kind == protocol.TypeArenaJoin && silence > max(startTimeout, r.group.SilenceTimeout):
		checker.BreachIf(true, "an arena has not started for %v: %+v", silence, r.data)
	}
}
