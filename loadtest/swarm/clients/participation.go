package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/rules"
	"laststand/loadtest/swarm/stats"
)

// entry is a request to enter a match.
type entry struct {
	kind        string
	data        any
	counts      bool        // the match counts for boards
	round       *arenaRun   // the arena to enter; nil: none
	host        *hostState  // set for the host of the arena, else nil
	reportEntry func(error) // called once, with nil when the player is in or with the reason why not; may be nil
}

func duel() entry {
	never := int64(0)
	return entry{kind: protocol.TypeDuelJoin, data: protocol.DuelJoin{Lang: "en", BotAfterMS: &never}, counts: true}
}

// participation is one player's way through one match, from the request to enter.
type participation struct {
	*client
	entry
	group      context.Context // when it ends, the player stops waiting for a match
	since      time.Time       // time of the first request, and then of the newest push
	hasEntered bool            // the player waits for the match, queued or seated
	isLeaving  bool            // the player takes the ticket back
	isRefused  bool            // the player will probably not get in
	retry      *player.Request // the request that the player must repeat
	retryAt    time.Time
	tries      int // tries to enter while already_playing
	refusals   int // refusals in a row

	match    *rules.Match // nil before the match
	answer   *attempt     // the answer that the player will send
	answerAt time.Time
}

// attempt is an answer that the client sends. If IsSecond is set, it differs from the
// accepted answer.
type attempt struct {
	protocol.Answer
	IsSecond bool `json:"-"`

	sentAt time.Time
}

const (
	// silenceLimit bounds how long a player may receive nothing of a match, or wait for its
	// start although other players are there.
	silenceLimit = 3 * time.Minute
	// checkEvery is the interval of the check whether a player must leave.
	checkEvery = time.Second
)

// play enters a match and plays it to its end.
func (p *client) play(group context.Context, e entry) error {
	t := &participation{client: p, entry: e, group: group, since: time.Now()}
	defer t.stopPlaying()
	t.Ask(t.kind, t.data)
	for !t.isDone() {
		t.sendDue(time.Now())
		h, err := t.Next(t.readContext(), t.nextDue())
		if err == nil {
			err = t.handleFrame(h)
		}
		if err != nil {
			t.sendEntry(err)
			return err
		}
		if time.Since(t.since) > silenceLimit && (t.match != nil || t.round != nil) {
			return fmt.Errorf("%w: nothing heard for %v of what %+v led to", player.ErrContract, silenceLimit, t.data)
		}
	}
	t.sendEntry(errArenaStarted)
	return t.finish()
}

// stopPlaying notes that a player is no longer in a match.
func (t *participation) stopPlaying() {
	if t.isPlaying() {
		t.c.playing.Add(-1)
	}
}

// isPlaying reports whether the player plays in a match that has started. The host does not
// play.
func (t *participation) isPlaying() bool { return t.match != nil && t.host == nil }

var errArenaStarted = errors.New("the arena had begun")

// sendEntry reports once whether the player is in.
func (t *participation) sendEntry(err error) {
	if t.reportEntry != nil {
		t.reportEntry(err)
		t.reportEntry = nil
	}
}

// readContext returns the context of the next read. A client that waits for nothing
// stops reading as soon as its group ends.
func (t *participation) readContext() context.Context {
	if t.match == nil && !t.hasEntered && !t.isLeaving && !t.isRefused && t.retry == nil && !t.IsAwaitingReply(t.kind) && t.round == nil {
		return t.group
	}
	return t.c.ctx
}

// isDone reports whether the match is over, or none will come.
func (t *participation) isDone() bool {
	if t.IsAwaitingReply(protocol.TypeAnswer, protocol.TypeDuelLeave, t.kind) {
		return false
	}
	if t.match != nil {
		return t.match.Over() != nil
	}
	return t.isRefused && time.Now().After(t.retryAt)
}

// nextDue returns the time of the next action that needs no message.
func (t *participation) nextDue() time.Time {
	at := time.Now().Add(checkEvery)
	if t.match != nil {
		at = at.Add(5 * checkEvery)
	}
	for _, due := range []time.Time{t.answerAt, t.retryAt} {
		if !due.IsZero() && due.After(time.Now()) && due.Before(at) {
			at = due
		}
	}
	return at
}

// sendDue carries out the actions that are due.
func (t *participation) sendDue(now time.Time) {
	if t.answer != nil && !now.Before(t.answerAt) {
		a := *t.answer
		a.sentAt, t.answer, t.answerAt = now, nil, time.Time{}
		if !a.IsSecond {
			t.match.RecordAnswer(a.Answer)
		}
		t.Ask(protocol.TypeAnswer, a)
	}
	if t.match != nil {
		return
	}
	if t.retry != nil && now.After(t.retryAt) {
		q := t.retry
		t.retry, t.retryAt = nil, time.Time{}
		t.Ask(q.Kind, q.Data)
	}
	if t.host != nil {
		t.startArena(now)
	}
	if t.group.Err() == nil || t.round != nil || t.isLeaving || t.isRefused {
		return
	}
	switch {
	case t.hasEntered, t.retry != nil: // a refused player may have a ticket nevertheless
		t.isLeaving, t.retry, t.retryAt = true, nil, time.Time{}
		t.Ask(protocol.TypeDuelLeave, protocol.Empty{})
	case !t.IsAwaitingReply(t.kind):
		t.isRefused = true
	}
}

// finish records the finished match.
func (t *participation) finish() error {
	if t.match == nil || t.host != nil {
		return nil
	}
	t.over, t.overAt = t.match.ID, time.Now()
	sums, err := t.match.Finish()
	if err != nil {
		return err
	}
	t.c.stats.Count("matches "+t.match.Mode(), 1)
	if t.counts {
		t.sums.Add(sums)
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.digests = append(t.c.digests, t.match.Digest())
	return nil
}

// handleFrame handles one frame.
func (t *participation) handleFrame(h player.Received) error {
	if h.Seq != 0 {
		return t.handlePush(h)
	}
	switch h.Type {
	case "", protocol.TypeMatchState, protocol.TypeArenaLobby, protocol.TypeArenaOK, protocol.TypeDraining:
	case protocol.TypeWelcome:
		return t.reenter(h)
	case protocol.TypeDuelQueued, protocol.TypeArenaJoined:
		t.hasEntered, t.since = true, time.Now()
		t.sendEntry(nil)
	case protocol.TypeDuelLeft:
		t.handleLeft()
	case protocol.TypeError:
		return t.handleRefusal(h)
	case protocol.TypeAnswered:
		return t.handleAnswered(h)
	case protocol.TypeOwn:
		return t.handleOwn(h)
	case protocol.TypeSettled:
		return t.handleSettled(h)
	default:
		return fmt.Errorf("%w: nobody asked for %s", player.ErrContract, h.Raw)
	}
	return nil
}

// handleSettled takes the end of a match, with the final rating if it is rated.
func (t *participation) handleSettled(h player.Received) error {
	var s protocol.Settled
	if err := json.Unmarshal(h.Data, &s); err != nil {
		return fmt.Errorf("%w: %w: %s", player.ErrContract, err, h.Raw)
	}
	if s.Match == t.over {
		t.c.stats.Add(stats.Settled, h.ReceivedAt.Sub(t.overAt))
	}
	if s.Match == t.lastOver && (s.Rating != nil) != t.isLastRated {
		return fmt.Errorf("%w: rated is %t, and settled is %s", player.ErrContract, t.isLastRated, h.Raw)
	}
	return nil
}
