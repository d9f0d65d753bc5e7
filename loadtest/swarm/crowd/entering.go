package crowd

import (
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// reenter asks anew where a ticket may have gone with the connection; a seat is
// still there.
func (t *part) reenter(h player.Heard) error {
	var w protocol.Welcome
	if err := json.Unmarshal(h.Data, &w); err != nil {
		return err
	}
	if t.match == nil && t.joined && !t.leave && w.Playing == nil && !t.Waits(t.kind) && t.again == nil {
		t.Ask(t.kind, t.data)
	}
	return nil
}

// left follows on a ticket that was taken back: for good, or to put in another.
func (t *part) left() {
	switch {
	case t.match != nil: // a match came first
	case t.leave:
		t.gone, t.at = true, time.Now().Add(t.c.Linger)
	default:
		t.Ask(t.kind, t.data)
	}
}

// patient says whether a refusal is for now only.
func patient(e protocol.Error) bool {
	return e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded || e.Code == protocol.CodeRateLimited
}

// refused follows on an error.
func (t *part) refused(h player.Heard) error {
	var e protocol.Error
	if err := json.Unmarshal(h.Data, &e); err != nil {
		return err
	}
	t.c.tally.Count(h.To.Kind+" "+string(e.Code), 1)
	after := max(time.Duration(e.RetryAfterMS)*time.Millisecond, look/5)
	switch {
	case h.To.Kind == protocol.TypeAnswer:
		return t.answerRefused(h, e, after)
	case t.match != nil: // what it was asked for has come by itself
		return nil
	case patient(e):
		t.since = time.Now()                                               // it was heard
		if t.group.Err() != nil && h.To.Kind == t.kind && t.round == nil { // a seat in an arena is not given back
			t.gone, t.at = true, time.Now().Add(t.c.Linger) // no more tries; it may be in, all the same
			return nil
		}
		t.turned++
		t.repeat(h.To, after*time.Duration(min(t.turned, mostPatience)))
		return nil
	}
	return t.entryRefused(h, e, after)
}

func (t *part) answerRefused(h player.Heard, e protocol.Error, after time.Duration) error {
	a, ok := h.To.Data.(try)
	if !ok || t.match == nil {
		return fmt.Errorf("%w: an answer that was not sent got %s", player.ErrFalse, h.Raw)
	}
	lockedOut := !a.Second && t.match.Mode() == "buzzer" && player.LockedOut(e)
	if !lockedOut && !patient(e) {
		return t.match.Refused(a.Answer, e, a.Second)
	}
	if !lockedOut && !a.Second && (e.Code != protocol.CodeRateLimited || h.To.Sent > 1) { // what is sent too fast is not looked at
		t.match.Unsure(a.Answer)
	}
	if q, closed := t.match.Newest(); closed == nil && !a.Second && *a.Question == q.Question {
		t.answer, t.due = &a, time.Now().Add(after)
	}
	return nil
}

func (t *part) repeat(q *player.Request, after time.Duration) {
	t.again, t.at = q, time.Now().Add(after)
}

// entryRefused follows on a refusal to let the player in.
func (t *part) entryRefused(h player.Heard, e protocol.Error, after time.Duration) error {
	switch e.Code {
	case protocol.CodeAlreadyQueued: // by a ticket from before the connection was lost
		t.Ask(protocol.TypeDuelLeave, protocol.Empty{})
		return nil
	case protocol.CodeAlreadyPlaying: // in the last match, until that is left behind
		if t.tries++; t.tries > 100 {
			break
		}
		if t.tries%20 == 0 { // another one is told of at a new connection at the latest
			t.Move()
		}
		t.repeat(h.To, after)
		return nil
	case protocol.CodeArenaStarted, protocol.CodeArenaFull, protocol.CodeNotFound:
		if t.host != nil || t.joined {
			break
		}
		t.gone = true
		return nil
	}
	return fmt.Errorf("%w: %s was answered with %s", player.ErrFalse, h.To.Kind, h.Raw)
}
