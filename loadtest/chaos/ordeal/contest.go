package ordeal

import (
	"context"
	"encoding/json"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// entry is what a contender asks for to get into a match.
type entry struct {
	kind string
	data any
	seat *seat // of an arena, else nil
}

// contest is a contender's way through one match, from asking for it on.
type contest struct {
	*contender
	entry
	since   time.Time       // when it was first asked for
	in      bool            // waits for the match, queued or seated
	repeat  *player.Request // that is to be made again at
	at      time.Time
	tries   int  // to get in while already_playing
	leaving bool // takes the ticket back
	gone    bool // is not to get in, as far as is known at

	record *record   // of the match, nil before it
	pushed time.Time // its newest
	share  *share
	answer *protocol.Answer // that is to be sent at
	due    time.Time
	over   bool
}

const (
	// beginWithin bounds how long a seat in an arena may wait for the beginning.
	beginWithin = 90 * time.Second
	// stillWithin bounds how long nothing may be pushed of a match.
	stillWithin = 30 * time.Second
	// freeWithin bounds how long after a match its players may count as playing.
	freeWithin = 30 * time.Second
	// linger is how long after the last ticket was taken back a match is waited
	// for that was made before that.
	linger = 1500 * time.Millisecond
	look   = 100 * time.Millisecond
)

// run plays the match to its end, or gives up the ticket for it.
func (c *contest) run(ctx context.Context) error {
	c.since = time.Now()
	c.Ask(c.kind, c.data)
	for !c.done() {
		c.act(time.Now())
		h, err := c.Next(ctx, c.wake())
		if err == nil {
			err = c.take(h)
		}
		if err != nil {
			return err
		}
		if err := c.checkPace(); err != nil {
			return err
		}
	}
	return nil
}

// checkPace finds a match that does not begin, or does not go on.
func (c *contest) checkPace() error {
	switch {
	case c.record == nil && c.seat != nil && time.Since(c.since) > beginWithin:
		return untrue("arena %s has not begun for its player after %v", c.seat.arena.code, beginWithin)
	case c.record != nil && !c.over && time.Since(c.pushed) > stillWithin:
		return untrue("%s has not gone on for %v after %s", c.record.id, stillWithin, c.record.newest())
	}
	return nil
}

// done says whether the match is over, or none will come.
func (c *contest) done() bool {
	if c.Waits(protocol.TypeAnswer, protocol.TypeDuelLeave, c.kind) {
		return false
	}
	return c.over || c.record == nil && c.gone && time.Now().After(c.at)
}

// wake is when there is something to be done without being told.
func (c *contest) wake() time.Time {
	at := time.Now().Add(look)
	if c.answer != nil && c.due.Before(at) {
		return c.due
	}
	return at
}

// act does what is due.
func (c *contest) act(now time.Time) {
	if c.answer != nil && !now.Before(c.due) {
		c.share.sent(c.answer)
		c.Ask(protocol.TypeAnswer, *c.answer)
		c.answer = nil
	}
	if c.record != nil {
		return
	}
	if c.repeat != nil && now.After(c.at) {
		c.Ask(c.repeat.Kind, c.repeat.Data)
		c.repeat = nil
	}
	if c.in && !c.leaving && c.seat == nil && (c.o.closing.Load() || c.offered()) {
		c.leaving = true
		c.Ask(protocol.TypeDuelLeave, protocol.Empty{})
	}
}

// take follows on a frame.
func (c *contest) take(h player.Heard) error {
	if h.Seq != 0 {
		return c.push(h)
	}
	switch h.Type {
	case protocol.TypeWelcome:
		return c.reenter(h)
	case protocol.TypeDuelQueued:
		c.enter()
	case protocol.TypeArenaJoined:
		c.enter()
		c.seat.arena.join(c.ID)
	case protocol.TypeDuelLeft:
		c.left()
	case protocol.TypeError:
		return c.refuse(h)
	case protocol.TypeAnswered:
		return c.answered(h)
	case protocol.TypeMatchState:
		return c.state(h)
	case protocol.TypeOwn:
		return c.own(h)
	case protocol.TypeArenaClosed, protocol.TypeArenaKicked:
		return untrue("nobody asked for %s", h.Raw)
	case protocol.TypeSettled:
		c.o.counts.settled.Add(1)
	}
	return nil
}

// enter waits for the match. One that was pushed before has been over by then:
// it was made when the contender had just taken a ticket back.
func (c *contest) enter() {
	c.in = true
	c.record, c.share, c.over = nil, nil, false
}

// reenter goes back to where the contender waited, over a new connection: a
// ticket may have gone with the old one, a seat is still there.
func (c *contest) reenter(h player.Heard) error {
	var w protocol.Welcome
	if err := json.Unmarshal(h.Data, &w); err != nil {
		return err
	}
	if c.record == nil && c.in && !c.leaving && w.Playing == nil && !c.Waits(c.kind) && c.repeat == nil {
		c.Ask(c.kind, c.data)
	}
	return nil
}

// left follows on a ticket that was taken back: for good, or to put in another
// one.
func (c *contest) left() {
	switch {
	case c.record != nil: // a match came first
	case c.leaving:
		c.gone = true
		if c.offer == nil {
			c.at = time.Now().Add(linger)
		}
	default:
		c.Ask(c.kind, c.data)
	}
}

// refuse follows on an error.
func (c *contest) refuse(h player.Heard) error {
	var e protocol.Error
	if err := json.Unmarshal(h.Data, &e); err != nil {
		return err
	}
	patient := e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded || e.Code == protocol.CodeRateLimited
	switch {
	case h.To.Kind == protocol.TypeAnswer:
		return c.answerRefused(h, e, patient)
	case c.record != nil: // what it was asked for has come by itself
		return nil
	case patient:
		c.askAgain(h.To, time.Duration(e.RetryAfterMS)*time.Millisecond)
		return nil
	case h.To.Kind != c.kind:
		return untrue("%s was answered with %s", h.To.Kind, h.Raw)
	}
	return c.entryRefused(h, e)
}

// askAgain makes a request once more after a while.
func (c *contest) askAgain(q *player.Request, after time.Duration) {
	c.repeat, c.at = q, time.Now().Add(max(after, look))
}

// entryRefused follows on a refusal to let the contender in.
func (c *contest) entryRefused(h player.Heard, e protocol.Error) error {
	switch e.Code {
	case protocol.CodeAlreadyQueued: // by a ticket from before the connection was lost
		c.Ask(protocol.TypeDuelLeave, protocol.Empty{})
		return nil
	case protocol.CodeAlreadyPlaying:
		return c.alreadyPlaying(h, e)
	case protocol.CodeArenaStarted, protocol.CodeArenaFull, protocol.CodeArenaLocked, protocol.CodeNotFound:
		if c.in {
			return untrue("a seat in arena %s was lost: %s", c.seat.arena.code, h.Raw)
		}
		c.gone = true
		return nil
	}
	return untrue("%s was answered with %s", c.kind, h.Raw)
}

// alreadyPlaying waits for the match that the contender is said to be in: one
// that was over is about to be left behind, another is about to be pushed, at a
// new connection at the latest.
func (c *contest) alreadyPlaying(h player.Heard, e protocol.Error) error {
	if time.Since(c.since) > freeWithin {
		return untrue("already_playing in %s after %v (over: %v)", e.Match, freeWithin, c.played[e.Match])
	}
	if c.tries++; c.tries%10 == 0 {
		c.Move()
	}
	c.askAgain(h.To, 2*look)
	return nil
}
