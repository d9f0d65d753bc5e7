package players

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// matchRun is the way of one player through one match, from the request to enter to the
// end of the match.
type matchRun struct {
	*player
	leave   context.Context // when it ends, the player stops waiting for a duel
	seat    *seat           // the seat to take in an arena; nil: play a duel
	decided func()          // is called when the player has a match or will get none; nil: no call
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

	retry    *Request // the request to repeat at retryAt; nil: none
	retryAt  time.Time
	answer   *attempt // the answer to send at answerAt; nil: none
	answerAt time.Time
}

// attempt is an answer that the player sends.
type attempt struct {
	protocol.Answer
	isSecond bool // it differs from the accepted answer
	sentAt   time.Time
}

const (
	// startTimeout bounds how long a player with a seat waits for the match to start.
	startTimeout = 90 * time.Second
	// checkInterval is how often a player checks whether it must leave.
	checkInterval = 100 * time.Millisecond
)

func newDuelJoin() protocol.DuelJoin {
	never := int64(0)
	return protocol.DuelJoin{Lang: "en", BotAfterMS: &never}
}

func (r *matchRun) mode() string {
	if r.seat == nil || !r.hasEntered {
		return "duel"
	}
	return r.seat.arena.mode
}

// end ends the way. A seat that was not taken stays
// offered to the player, or is declined.
func (r *matchRun) end() {
	r.decide()
	switch {
	case r.seat == nil || r.hasEntered:
	case r.hasMatch: // the server had already started a duel
		r.offer = r.seat
	default:
		r.seat.decline()
	}
}

func (r *matchRun) decide() {
	if r.decided != nil {
		r.decided()
		r.decided = nil
	}
}

// mustLeave reports whether the player must take its ticket back: it must end, or an
// arena has a seat for it. A seat cannot be given back.
func (r *matchRun) mustLeave() bool {
	return r.seat == nil && (r.leave.Err() != nil || r.hasOffer())
}

// readContext returns the context of the next read. A player that waits for nothing
// stops reading when it must leave.
func (r *matchRun) readContext() context.Context {
	if r.hasMatch || r.hasEntered || r.isLeaving || r.isRefused || r.retry != nil || r.seat != nil || r.IsAwaitingReply(r.kind) {
		return r.group.life
	}
	return r.leave
}

// isDone reports whether the match is over, or none will come.
func (r *matchRun) isDone() bool {
	if r.IsAwaitingReply(protocol.TypeAnswer, protocol.TypeDuelLeave, r.kind) {
		return false
	}
	if r.hasMatch {
		return !r.view.IsPlaying()
	}
	return r.isRefused && time.Now().After(r.retryAt)
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

// checkSilence reports a match that does not start or does not continue.
func (r *matchRun) checkSilence() error {
	silence := time.Since(r.since)
	switch {
	case r.hasMatch && r.view.IsPlaying() && silence > r.group.SilenceTimeout:
		return fmt.Errorf("%w: %s has not continued for %v after %s", checker.ErrContract, r.view.Match(), silence, r.view.Newest())
	case !r.hasMatch && r.seat != nil && silence > max(startTimeout, r.group.SilenceTimeout):
		return fmt.Errorf("%w: arena %s has not started for its player after %v", checker.ErrContract, r.seat.arena.made.Code, silence)
	}
	return r.checkConnection()
}

// repeat sends a request again after a delay.
func (r *matchRun) repeat(q *Request, after time.Duration) {
	r.retry, r.retryAt = q, time.Now().Add(after)
}
