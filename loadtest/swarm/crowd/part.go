package crowd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
	"laststand/loadtest/swarm/tally"
	"laststand/loadtest/swarm/truth"
)

// entry is what a player asks for to get into a match.
type entry struct {
	kind   string
	data   any
	counts bool        // for boards
	round  *round      // of an arena, else nil
	host   *hosting    // of who leads it, else nil
	in     func(error) // is told, once, that the player is in, or why not; nil: nobody
}

func duel() entry {
	never := int64(0)
	return entry{kind: protocol.TypeDuelJoin, data: protocol.DuelJoin{Lang: "en", BotAfterMS: &never}, counts: true}
}

// part is a player's way through one match, from asking for it on.
type part struct {
	*person
	entry
	group  context.Context // at its end the player does not wait for a match any more
	since  time.Time       // when it was first asked for, and then the newest push
	joined bool            // waits for the match, queued or seated
	leave  bool            // takes the ticket back
	gone   bool            // will not get in, as far as is known at
	again  *player.Request // that is to be made once more at
	at     time.Time
	tries  int // to get in while already_playing
	turned int // away for now, one after another

	match  *truth.Match // nil before it
	answer *try         // that is to be sent at
	due    time.Time
}

// try is an answer as it is sent. Second is another one than that accepted.
type try struct {
	protocol.Answer
	Second bool `json:"-"`

	at time.Time
}

const (
	// stillWithin bounds how long a player may hear nothing of a match, or wait
	// for its beginning with others there.
	stillWithin = 3 * time.Minute
	// look is how often it is looked whether a player is to leave.
	look = time.Second
)

// play gets into a match and plays it to its end.
func (p *person) play(group context.Context, e entry) error {
	t := &part{person: p, entry: e, group: group, since: time.Now()}
	defer t.rest()
	t.Ask(t.kind, t.data)
	for !t.done() {
		t.act(time.Now())
		h, err := t.Next(t.life(), t.wake())
		if err == nil {
			err = t.take(h)
		}
		if err != nil {
			t.tell(err)
			return err
		}
		if time.Since(t.since) > stillWithin && (t.match != nil || t.round != nil) {
			return fmt.Errorf("%w: nothing heard for %v of what %+v led to", player.ErrFalse, stillWithin, t.data)
		}
	}
	t.tell(errGone)
	return t.end()
}

// rest notes that a player is in no match any more.
func (t *part) rest() {
	if t.plays() {
		t.c.playing.Add(-1)
	}
}

// plays says whether a match was begun, and not to lead it.
func (t *part) plays() bool { return t.match != nil && t.host == nil }

var errGone = errors.New("the arena had begun")

// tell tells once whether the player is in.
func (t *part) tell(err error) {
	if t.in != nil {
		t.in(err)
		t.in = nil
	}
}

// life is how long the next frame is waited for: who is in nothing leaves at once.
func (t *part) life() context.Context {
	if t.match == nil && !t.joined && !t.leave && !t.gone && t.again == nil && !t.Waits(t.kind) && t.round == nil {
		return t.group
	}
	return t.c.life
}

// done says whether the match is over, or none will come.
func (t *part) done() bool {
	if t.Waits(protocol.TypeAnswer, protocol.TypeDuelLeave, t.kind) {
		return false
	}
	if t.match != nil {
		return t.match.Over() != nil
	}
	return t.gone && time.Now().After(t.at)
}

// wake is when there is something to be done without being told.
func (t *part) wake() time.Time {
	at := time.Now().Add(look)
	if t.match != nil {
		at = at.Add(5 * look)
	}
	for _, due := range []time.Time{t.due, t.at} {
		if !due.IsZero() && due.After(time.Now()) && due.Before(at) {
			at = due
		}
	}
	return at
}

// act does what is due.
func (t *part) act(now time.Time) {
	if t.answer != nil && !now.Before(t.due) {
		a := *t.answer
		a.at, t.answer, t.due = now, nil, time.Time{}
		if !a.Second {
			t.match.Sent(a.Answer)
		}
		t.Ask(protocol.TypeAnswer, a)
	}
	if t.match != nil {
		return
	}
	if t.again != nil && now.After(t.at) {
		q := t.again
		t.again, t.at = nil, time.Time{}
		t.Ask(q.Kind, q.Data)
	}
	if t.host != nil {
		t.lead(now)
	}
	if t.group.Err() == nil || t.round != nil || t.leave || t.gone {
		return
	}
	switch {
	case t.joined, t.again != nil: // who was refused may have a ticket all the same
		t.leave, t.again, t.at = true, nil, time.Time{}
		t.Ask(protocol.TypeDuelLeave, protocol.Empty{})
	case !t.Waits(t.kind):
		t.gone = true
	}
}

// end takes what the match was.
func (t *part) end() error {
	if t.match == nil || t.host != nil {
		return nil
	}
	t.over, t.overAt = t.match.ID, time.Now()
	sums, err := t.match.Finish()
	if err != nil {
		return err
	}
	t.c.tally.Count("matches "+t.match.Mode(), 1)
	if t.counts {
		t.sums.Add(sums)
	}
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.c.seen = append(t.c.seen, t.match.Seen())
	return nil
}

// take follows on a frame.
func (t *part) take(h player.Heard) error {
	if h.Seq != 0 {
		return t.push(h)
	}
	switch h.Type {
	case "", protocol.TypeMatchState, protocol.TypeArenaLobby, protocol.TypeArenaOK, protocol.TypeDraining:
	case protocol.TypeWelcome:
		return t.reenter(h)
	case protocol.TypeDuelQueued, protocol.TypeArenaJoined:
		t.joined, t.since = true, time.Now()
		t.tell(nil)
	case protocol.TypeDuelLeft:
		t.left()
	case protocol.TypeError:
		return t.refused(h)
	case protocol.TypeAnswered:
		return t.answered(h)
	case protocol.TypeOwn:
		return t.own(h)
	case protocol.TypeSettled:
		return t.settled(h)
	default:
		return fmt.Errorf("%w: nobody asked for %s", player.ErrFalse, h.Raw)
	}
	return nil
}

// settled takes the end of a match, with the final rating if it is rated.
func (t *part) settled(h player.Heard) error {
	var s protocol.Settled
	if err := json.Unmarshal(h.Data, &s); err != nil {
		return fmt.Errorf("%w: %w: %s", player.ErrFalse, err, h.Raw)
	}
	if s.Match == t.over {
		t.c.tally.Add(tally.Settled, h.Came.Sub(t.overAt))
	}
	if s.Match == t.told && (s.Rating != nil) != t.rated {
		return fmt.Errorf("%w: rated is %t, and settled is %s", player.ErrFalse, t.rated, h.Raw)
	}
	return nil
}
