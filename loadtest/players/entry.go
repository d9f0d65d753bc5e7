package players

import (
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// enterAgain requests the entry again if the ticket may have ended with the old connection.
// A seat survives a reconnect.
func (r *matchRun) enterAgain() {
	if !r.hasMatch && r.hasEntered && !r.isLeaving && r.connection.Welcome.Playing == nil && !r.isAwaitingReply(r.kind) && r.retry == nil {
		r.ask(r.kind, r.data)
	}
}

// handleEntered waits for the match. A match that came before is over: the server made it
// when the player had just left the queue.
func (r *matchRun) handleEntered() {
	if r.hasMatch && !r.view.IsPlaying() {
		r.view.Finish()
		r.hasMatch = false
	}
	if r.seat != nil && !r.hasEntered {
		r.seat.arena.firstPlayer.CompareAndSwap(nil, &r.ID)
		r.seat.arena.taken.Add(1)
	}
	r.hasEntered, r.refusals, r.since = true, 0, time.Now()
}

// handleLeft handles the end of a ticket. A player that is leaving waits for a late match.
// Any other player enters again.
func (r *matchRun) handleLeft() {
	switch {
	case r.hasMatch: // a match started first
	case r.isLeaving:
		r.isRefused = true
		if !r.isAlone {
			r.retryAt = time.Now().Add(r.group.LateMatchWait)
		}
	default:
		r.ask(r.kind, r.data)
	}
}

func (r *matchRun) handleRefusal(h received) {
	e := decode[protocol.Error](h)
	r.group.Stats.Count(h.request.kind+" "+string(e.Code), 1)
	after := max(time.Duration(e.RetryAfterMS)*time.Millisecond, 2*checkInterval)
	switch {
	case h.request.kind == protocol.TypeAnswer:
		r.handleAnswerRefusal(h, e, after)
	case r.hasMatch: // the match started without this request
	case h.request.kind == protocol.TypeArenaExtend && !r.group.Strict: // the arena starts without it
	case r.group.Strict && (h.request.kind != protocol.TypeDuelJoin || e.Code != protocol.CodeUnavailable):
		breachByReplyIf(true, h)
	case isForNow(e):
		r.since = time.Now() // the server has answered
		if r.mustLeave() && h.request.kind == r.kind {
			r.isRefused, r.retryAt = true, time.Now().Add(r.group.LateMatchWait) // the server may have paired the player
			return
		}
		r.refusals++
		r.retry, r.retryAt = h.request, time.Now().Add(after*time.Duration(min(r.refusals, maxBackoff)))
	case h.request.kind == protocol.TypeArenaStart && e.Code == protocol.CodeArenaStarted && h.request.attempts > 1: // by an earlier attempt
	case h.request.kind == r.kind:
		r.handleEntryRefusal(h, e, after)
	default:
		breachByReplyIf(true, h)
	}
}

// breachByReplyIf ends a match after a reply that the contract does not allow.
func breachByReplyIf(isBroken bool, h received) {
	checker.BreachIf(isBroken, "%s was answered with %s", h.request.kind, h.Raw)
}

// isForNow reports whether the server asks the client to try again later.
func isForNow(e protocol.Error) bool {
	return e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded || e.Code == protocol.CodeRateLimited
}

// maxBackoff bounds the wait between tries, as a multiple of the wait that the node asks
// for. Without longer waits, all clients would return at the same time, again and again.
const maxBackoff = 8

// freeTimeout bounds how long after a match the server may still count its players as
// playing.
const freeTimeout = 30 * time.Second

func (r *matchRun) handleEntryRefusal(h received, e protocol.Error, after time.Duration) {
	switch e.Code {
	case protocol.CodeAlreadyQueued: // by a ticket of the previous connection
		r.ask(protocol.TypeDuelLeave, protocol.Empty{})
	case protocol.CodeAlreadyPlaying: // in the last match, or in one that the server will push
		if r.playingSince.IsZero() {
			r.playingSince = time.Now()
		}
		breachByReplyIf(time.Since(r.playingSince) > freeTimeout, h)
		if r.playingTries++; r.playingTries%10 == 0 { // a new connection reveals any other match
			r.dropConnection()
		}
		r.retry, r.retryAt = h.request, time.Now().Add(after)
	case protocol.CodeArenaStarted, protocol.CodeArenaFull, protocol.CodeArenaLocked, protocol.CodeNotFound:
		breachByReplyIf(r.hasEntered || r.seat == nil, h)
		r.isRefused = true
	default:
		breachByReplyIf(true, h)
	}
}
