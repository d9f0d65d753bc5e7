package clients

import (
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// reenter requests the entry again if the lost connection may have taken the ticket with
// it. A seat survives a reconnect.
func (t *participation) reenter(h player.Received) error {
	var w protocol.Welcome
	if err := json.Unmarshal(h.Data, &w); err != nil {
		return err
	}
	if t.match == nil && t.hasEntered && !t.isLeaving && w.Playing == nil && !t.IsAwaitingReply(t.kind) && t.retry == nil {
		t.Ask(t.kind, t.data)
	}
	return nil
}

// handleLeft handles the confirmation that the player left the queue. A player that is
// leaving waits for a late match. Any other player enters again.
func (t *participation) handleLeft() {
	switch {
	case t.match != nil: // a match started first
	case t.isLeaving:
		t.isRefused, t.retryAt = true, time.Now().Add(t.c.LateMatchWait)
	default:
		t.Ask(t.kind, t.data)
	}
}

// isTemporary reports whether the server asks the client to retry later.
func isTemporary(e protocol.Error) bool {
	return e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded || e.Code == protocol.CodeRateLimited
}

// handleRefusal handles an error reply.
func (t *participation) handleRefusal(h player.Received) error {
	var e protocol.Error
	if err := json.Unmarshal(h.Data, &e); err != nil {
		return err
	}
	t.c.stats.Count(h.Request.Kind+" "+string(e.Code), 1)
	after := max(time.Duration(e.RetryAfterMS)*time.Millisecond, checkEvery/5)
	switch {
	case h.Request.Kind == protocol.TypeAnswer:
		return t.handleAnswerRefusal(h, e, after)
	case t.match != nil: // the match that the request asked for has already started
		return nil
	case isTemporary(e):
		t.since = time.Now()                                                    // the server has answered
		if t.group.Err() != nil && h.Request.Kind == t.kind && t.round == nil { // the run ends: stop retrying duels; a seat in an arena cannot be returned
			t.isRefused, t.retryAt = true, time.Now().Add(t.c.LateMatchWait) // the server may still have paired the player
			return nil
		}
		t.refusals++
		t.repeat(h.Request, after*time.Duration(min(t.refusals, maxBackoff)))
		return nil
	}
	return t.handleEntryRefusal(h, e, after)
}

func (t *participation) handleAnswerRefusal(h player.Received, e protocol.Error, after time.Duration) error {
	a, ok := h.Request.Data.(attempt)
	if !ok || t.match == nil {
		return fmt.Errorf("%w: an answer that was not sent got %s", player.ErrContract, h.Raw)
	}
	lockedOut := !a.IsSecond && t.match.Mode() == "buzzer" && player.IsLockedOut(e)
	if !lockedOut && !isTemporary(e) {
		return t.match.RecordRefusal(a.Answer, e, a.IsSecond)
	}
	if !lockedOut && !a.IsSecond && (e.Code != protocol.CodeRateLimited || h.Request.Attempts > 1) { // the server never processes a rate-limited answer, so the outcome is known
		t.match.MarkUnsure(a.Answer)
	}
	if q, closed := t.match.Newest(); closed == nil && !a.IsSecond && *a.Question == q.Question {
		t.answer, t.answerAt = &a, time.Now().Add(after)
	}
	return nil
}

func (t *participation) repeat(q *player.Request, after time.Duration) {
	t.retry, t.retryAt = q, time.Now().Add(after)
}

// handleEntryRefusal handles the refusal of a request to enter.
func (t *participation) handleEntryRefusal(h player.Received, e protocol.Error, after time.Duration) error {
	switch e.Code {
	case protocol.CodeAlreadyQueued: // with a ticket from before the connection was lost
		t.Ask(protocol.TypeDuelLeave, protocol.Empty{})
		return nil
	case protocol.CodeAlreadyPlaying: // in the last match, until the player leaves it
		if t.tries++; t.tries > 100 {
			break
		}
		if t.tries%20 == 0 { // a new connection reveals any other match
			t.Disconnect()
		}
		t.repeat(h.Request, after)
		return nil
	case protocol.CodeArenaStarted, protocol.CodeArenaFull, protocol.CodeNotFound:
		if t.host != nil || t.hasEntered {
			break
		}
		t.isRefused = true
		return nil
	}
	return fmt.Errorf("%w: %s was answered with %s", player.ErrContract, h.Request.Kind, h.Raw)
}
