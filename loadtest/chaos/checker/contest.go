package checker

import (
	"context"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// entry is the request with which a contender enters a match.
type entry struct {
	kind string
	data any
	seat *seat // in an arena; nil for a duel
}

// contest is one match of a contender, from the first request on.
type contest struct {
	*contender
	entry
	since   time.Time       // when the contender first made the request
	in      bool            // waits for the match, queued or seated
	repeat  *player.Request // request to make again at the instant at
	at      time.Time
	tries   int  // tries to enter while the server replies already_playing
	leaving bool // the contender is leaving the queue
	gone    bool // the contender will not enter, as far as is known at the instant at

	record *record   // of the match; nil before it
	pushed time.Time // when its newest push came
	share  *share
	answer *protocol.Answer // answer to send at the instant due
	due    time.Time
	over   bool
}

const (
	// beginWithin bounds how long a seat in an arena may wait for the match to start.
	beginWithin = 90 * time.Second
	// stillWithin bounds the time between two pushes of a match.
	stillWithin = 30 * time.Second
	// freeWithin bounds how long after a match the server may still count its players as
	// playing.
	freeWithin = 30 * time.Second
	// lateMatchWait is how long a contender waits after it has left the queue, for a match
	// that the server made before that.
	lateMatchWait = 1500 * time.Millisecond
	look          = 100 * time.Millisecond
)

// run asks to enter, if that has not happened yet, and plays until end is true.
func (c *contest) run(ctx context.Context, end func() bool) error {
	if c.since.IsZero() {
		c.since = time.Now()
		c.Ask(c.kind, c.data)
	}
	for !end() {
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

// checkPace reports a match that does not start, or does not continue.
func (c *contest) checkPace() error {
	switch {
	case c.record == nil && c.seat != nil && time.Since(c.since) > beginWithin:
		return violation("arena %s has not begun for its player after %v", c.seat.arena.code, beginWithin)
	case c.record != nil && !c.over && time.Since(c.pushed) > stillWithin:
		return violation("%s has not gone on for %v after %s", c.record.id, stillWithin, c.record.newest())
	}
	return nil
}

// done says whether the match is over, or none will come.
func (c *contest) done() bool {
	if c.IsAwaitingReply(protocol.TypeAnswer, protocol.TypeDuelLeave, c.kind) {
		return false
	}
	return c.over || c.record == nil && c.gone && time.Now().After(c.at)
}

// wake returns when the contest must act next, even if no frame comes.
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

// take handles a frame.
func (c *contest) take(h player.Received) error {
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
		return violation("nobody asked for %s", h.Raw)
	case protocol.TypeSettled:
		c.o.counts.settled.Add(1)
	}
	return nil
}

// enter waits for the match. An earlier match is already over: the server made it when
// the contender had just left the queue.
func (c *contest) enter() {
	c.in = true
	c.record, c.share, c.over = nil, nil, false
}
