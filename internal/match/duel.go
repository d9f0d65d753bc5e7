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
	created, err := e.createMatch(ctx, plan, initial, &foundPush)
	if err != nil {
		return err
	}
	if created { // hold it without a read
		initial.Seq, initial.Version = 1, 1
		e.noteChange(e.storeLocalMatch(newLocalMatch(View{Plan: plan, State: initial})))
	} else if exists, err := e.Matches.Tombstone(ctx, plan.ID); err != nil || !exists {
		return cmp.Or(err, ErrNotFound)
	}
	var errs error
	for _, seat := range plan.Seats {
		errs = errors.Join(errs, e.AttachSession(ctx, plan.Game, plan.ID, seat.Player))
	}
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
