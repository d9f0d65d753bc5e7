package match

import (
	"context"
	"errors"
)

// askAfterMS is how long the players of a match that is over wait for the word
// that its result is settled before this node looks for itself; then twice as
// long, and so on while the match is kept.
const askAfterMS = 3000

// Settlement is a match whose result is settled, with those of its players who
// have a session at this node.
type Settlement struct {
	Game, Match string
	Ratings     map[string]int // final, by player; nil where the match is not rated
	Here        map[string]Subscriber
}

// Told notes that the players of a match here were told that its result is
// settled.
func (e *Engine) Told(match string) {
	if l := e.held(match); l != nil {
		l.telling()
	}
}

// TellSettled has the players of a match here told that its result is settled, with
// their final ratings, unless they were; where this node does not hold it there is
// nobody to tell.
func (e *Engine) TellSettled(ctx context.Context, match string, ratings map[string]int) error {
	l := e.held(match)
	if l == nil || !l.telling() {
		return nil
	}
	err := e.Settled(ctx, Settlement{Game: l.plan.Game, Match: match, Ratings: ratings, Here: l.playersHere()})
	if err != nil {
		l.untell()
	}
	return err
}

// askSettled tells those whose result is settled where the word of it has not
// come here.
func (e *Engine) askSettled(ctx context.Context) error {
	now := e.Now()
	return each(e.those(func(l *live) bool { return l.asks(now) }), func(l *live) error {
		v, err := e.Store.Read(ctx, ReadQuery{Match: l.plan.ID, After: -1})
		switch {
		case errors.Is(err, ErrNotFound):
			return nil
		case err != nil || !v.Told:
			return err
		}
		return e.TellSettled(ctx, l.plan.ID, v.Ratings)
	})
}

// asks says whether it is time to look whether the result of a match is settled.
func (l *live) asks(now int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.plan.Counts || !l.state.anyClosed() || l.told || !l.state.Phase.ended() || l.abandoned() || len(l.subs) == 0 {
		return false
	}
	due := l.askAt > 0 && now >= l.askAt
	if due || l.askAt == 0 {
		l.askIn = max(2*l.askIn, askAfterMS)
		l.askAt = now + l.askIn
	}
	return due
}

// telling says whether players here are still to be told, by the caller now;
// untell takes that back, and has it looked for anew.
func (l *live) telling() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	told := l.told
	l.told = true
	return !told
}

func (l *live) untell() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.told, l.askAt, l.askIn = false, 0, 0
}
