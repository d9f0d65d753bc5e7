package players

import (
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// reenter requests the entry again if the ticket may have ended with the old connection.
// A seat survives a reconnect.
func (r *matchRun) reenter(h Received) error {
	var w protocol.Welcome
	if err := json.Unmarshal(h.Data, &w); err != nil {
		return err
	}
	if !r.hasMatch && r.hasEntered && !r.isLeaving && w.Playing == nil && !r.IsAwaitingReply(r.kind) && r.retry == nil {
		r.Ask(r.kind, r.data)
	}
	return nil
}

// enter waits for the match. A match that came before is over: the server made it when
// the player had just left the queue.
func (r *matchRun) enter() {
	if r.hasMatch && !r.view.IsPlaying() {
		r.view.Finish()
		r.hasMatch = false
	}
	if r.seat != nil && !r.hasEntered {
		r.seat.take()
	}
	r.hasEntered, r.refusals, r.since = true, 0, time.Now()
}

// left handles the end of a ticket. A player that is leaving waits for a late match. Any
// other player enters again.
func (r *matchRun) left() {
	switch {
	case r.hasMatch: // a match started first
	case r.isLeaving:
		r.isRefused = true
		if r.offer == nil { // with a seat to take, the next matchRun waits for a late match
			r.retryAt = time.Now().Add(r.group.LateMatchWait)
		}
	default:
		r.Ask(r.kind, r.data)
	}
}

// refused handles an error reply.
func (r *matchRun) refused(h Received) error {
	var e protocol.Error
	if err := json.Unmarshal(h.Data, &e); err != nil {
		return err
	}
	r.group.Stats.Count(h.Request.Kind+" "+string(e.Code), 1)
	after := max(time.Duration(e.RetryAfterMS)*time.Millisecond, 2*checkInterval)
	switch {
	case h.Request.Kind == protocol.TypeAnswer:
		return r.answerRefused(h, e, after)
	case r.hasMatch: // the match started without this request
		return nil
	case r.group.Strict && (h.Request.Kind != protocol.TypeDuelJoin || e.Code != protocol.CodeUnavailable):
	case isForNow(e):
		r.since = time.Now() // the server has answered
		if r.mustLeave() && h.Request.Kind == r.kind {
			r.isRefused, r.retryAt = true, time.Now().Add(r.group.LateMatchWait) // the server may have paired the player
			return nil
		}
		r.refusals++
		r.repeat(h.Request, after*time.Duration(min(r.refusals, maxBackoff)))
		return nil
	case h.Request.Kind == r.kind:
		return r.entryRefused(h, e, after)
	}
	return fmt.Errorf("%w: %s was answered with %s", checker.ErrContract, h.Request.Kind, h.Raw)
}

// freeTimeout bounds how long after a match the server may still count its players as
// playing.
const freeTimeout = 30 * time.Second

// entryRefused handles the refusal of a request to enter.
func (r *matchRun) entryRefused(h Received, e protocol.Error, after time.Duration) error {
	switch e.Code {
	case protocol.CodeAlreadyQueued: // by a ticket of the previous connection
		r.Ask(protocol.TypeDuelLeave, protocol.Empty{})
		return nil
	case protocol.CodeAlreadyPlaying: // in the last match, or in one that the server will push
		if r.playingSince.IsZero() {
			r.playingSince = time.Now()
		}
		if time.Since(r.playingSince) > freeTimeout {
			break
		}
		if r.playingTries++; r.playingTries%10 == 0 { // a new connection reveals any other match
			r.Disconnect()
		}
		r.repeat(h.Request, after)
		return nil
	case protocol.CodeArenaStarted, protocol.CodeArenaFull, protocol.CodeArenaLocked, protocol.CodeNotFound:
		if r.hasEntered || r.seat == nil {
			break
		}
		r.isRefused = true
		return nil
	}
	return fmt.Errorf("%w: %s was answered with %s", checker.ErrContract, h.Request.Kind, h.Raw)
}
