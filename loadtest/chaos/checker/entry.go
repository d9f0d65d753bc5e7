package checker

import (
	"encoding/json"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// reenter goes back to the queue or the seat over a new connection. A ticket may have
// ended with the old connection; a seat remains.
func (c *contest) reenter(h player.Received) error {
	var w protocol.Welcome
	if err := json.Unmarshal(h.Data, &w); err != nil {
		return err
	}
	if c.record == nil && c.in && !c.leaving && w.Playing == nil && !c.IsAwaitingReply(c.kind) && c.repeat == nil {
		c.Ask(c.kind, c.data)
	}
	return nil
}

// left handles the end of a ticket. The contender stops, or queues again.
func (c *contest) left() {
	switch {
	case c.record != nil: // a match came first
	case c.leaving:
		c.gone = true
		if c.offer == nil {
			c.at = time.Now().Add(lateMatchWait)
		}
	default:
		c.Ask(c.kind, c.data)
	}
}

// refuse handles an error.
func (c *contest) refuse(h player.Received) error {
	var e protocol.Error
	if err := json.Unmarshal(h.Data, &e); err != nil {
		return err
	}
	patient := e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded || e.Code == protocol.CodeRateLimited
	switch {
	case h.Request.Kind == protocol.TypeAnswer:
		return c.answerRefused(h, e, patient)
	case c.record != nil: // the match came without the request
		return nil
	case patient:
		c.askAgain(h.Request, time.Duration(e.RetryAfterMS)*time.Millisecond)
		return nil
	case h.Request.Kind != c.kind:
		return violation("%s was answered with %s", h.Request.Kind, h.Raw)
	}
	return c.entryRefused(h, e)
}

// askAgain repeats a request after a delay.
func (c *contest) askAgain(q *player.Request, after time.Duration) {
	c.repeat, c.at = q, time.Now().Add(max(after, look))
}

// entryRefused handles a refusal of the request to enter.
func (c *contest) entryRefused(h player.Received, e protocol.Error) error {
	switch e.Code {
	case protocol.CodeAlreadyQueued: // by a ticket of the previous connection
		c.Ask(protocol.TypeDuelLeave, protocol.Empty{})
		return nil
	case protocol.CodeAlreadyPlaying:
		return c.alreadyPlaying(h, e)
	case protocol.CodeArenaStarted, protocol.CodeArenaFull, protocol.CodeArenaLocked, protocol.CodeNotFound:
		if c.in {
			return violation("a seat in arena %s was lost: %s", c.seat.arena.code, h.Raw)
		}
		c.gone = true
		return nil
	}
	return violation("%s was answered with %s", c.kind, h.Raw)
}

// alreadyPlaying waits for the match that the server reports. If that match is over, the
// server will soon release the player. Otherwise the server will push it soon, at the
// latest over a new connection.
func (c *contest) alreadyPlaying(h player.Received, e protocol.Error) error {
	if time.Since(c.since) > freeWithin {
		return violation("already_playing in %s after %v (over: %v)", e.Match, freeWithin, c.played[e.Match])
	}
	if c.tries++; c.tries%10 == 0 {
		c.Disconnect()
	}
	c.askAgain(h.Request, 2*look)
	return nil
}
