package match

import (
	"cmp"
	"context"
	"errors"

	"laststand/internal/protocol"
)

// StartDuel creates a duel unless it exists, and attaches the sessions that its
// players have at this node. It returns ErrNotFound if Tombstone was called for
// this match id before.
func (e *Engine) StartDuel(ctx context.Context, plan *Plan) error {
	seats := int64(len(plan.Seats))
	initial := State{
		Phase: PhaseCountdown, Question: -1, LastDecided: -1, StartsAt: plan.StartsAt, DueAt: plan.StartsAt, Players: seats, Alive: seats,
	}
	foundPush := newPush(plan, protocol.TypeMatchFound, matchFoundView(plan, View{State: initial}))
	created, err := e.createMatch(ctx, NewMatch{Plan: plan, State: initial, Found: &foundPush, Node: e.Node})
	if err != nil {
		return err
	}
	if created {
		initial.Seq, initial.Version = 1, 1
		return e.holdNewDuel(ctx, View{Plan: plan, State: initial, Records: map[string]Record{}, Frames: [][]byte{foundPush.Frame(1)}})
	}
	if exists, err := e.Matches.Tombstone(ctx, plan.ID); err != nil || !exists {
		return cmp.Or(err, ErrNotFound)
	}
	var errs error
	for _, seat := range plan.Seats {
		errs = errors.Join(errs, e.AttachSession(ctx, plan.Game, plan.ID, seat.Player))
	}
	return errs
}

// holdNewDuel holds a duel that this node has just created, and attaches the sessions that
// its players have here. It reads the duel only if that has advanced since then.
func (e *Engine) holdNewDuel(ctx context.Context, view View) error {
	plan, local := view.Plan, e.storeLocalMatch(newLocalMatch(view))
	local.noteRead(view)
	var errs error
	for _, seat := range plan.Seats {
		session, ok := e.findAttachable(plan.Game, plan.ID, seat.Player)
		if ok && !e.addIfPresent(local, AttachRequest{Match: plan.ID, Player: seat.Player, Session: session}, view) {
			errs = errors.Join(errs, e.AttachSession(ctx, plan.Game, plan.ID, seat.Player))
		}
	}
	e.noteChange(local)
	return errs
}

// Tombstone prevents a match from ever being created. It reports whether the
// match already exists; then it changes nothing.
func (e *Engine) Tombstone(ctx context.Context, match string) (exists bool, err error) {
	return e.Matches.Tombstone(ctx, match)
}

// Leave forfeits a duel for one of its players. It changes nothing if the match
// is over, already forfeited, or an arena. It returns ErrNotFound if
// the player has no seat.
func (e *Engine) Leave(ctx context.Context, match, player string) error {
	if err := e.CheckSeat(ctx, match, player); err != nil {
		return err
	}
	return e.requestStep(ctx, match, func(plan *Plan, view View, now int64) (Step, bool) { return forfeitStep(plan, view, player, now) })
}

// HasForfeitedEarly reports whether a player forfeited a duel before a question
// was closed. It returns false if this node does not hold the duel.
func (e *Engine) HasForfeitedEarly(match, player string) bool {
	local := e.findLocalMatch(match)
	if local == nil {
		return false
	}
	state := local.knownState()
	return state.Phase.hasEnded() && state.Leaver == player && !state.hasClosedQuestion()
}
