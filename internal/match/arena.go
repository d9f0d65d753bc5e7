package match

import (
	"context"

	"laststand/internal/protocol"
)

// maxLobbyMS is how long an arena may stay in its lobby.
const maxLobbyMS = 12 * 60 * 60 * 1000

// CreateArena creates the match of an arena in its lobby.
func (e *Engine) CreateArena(ctx context.Context, plan *Plan) error {
	_, err := e.createMatch(ctx, NewMatch{Plan: plan, State: State{
		Phase: PhaseLobby, Question: -1, LastDecided: -1, DueAt: e.Now() + maxLobbyMS, HostPaced: plan.Arena.HostPaced,
	}})
	return err
}

// ReadArena returns the plan, state, listed seats and teams of an arena, or
// ErrNotFound.
func (e *Engine) ReadArena(ctx context.Context, match string) (View, error) {
	local, err := e.loadMatch(ctx, match)
	if err != nil {
		return View{}, err
	}
	view, err := e.read(ctx, local, -1)
	view.Plan = local.plan
	return view, err
}

// StartArena starts the countdown of an arena. It does nothing unless the arena is
// in its lobby.
func (e *Engine) StartArena(ctx context.Context, match string) error {
	return e.requestStep(ctx, match, startArenaStep)
}

// CloseArena ends an arena. It does nothing if the arena is over.
func (e *Engine) CloseArena(ctx context.Context, match string) error {
	return e.requestStep(ctx, match, closeArenaStep)
}

// Proceed ends a question for the host; -1 means the countdown before question 0. It
// closes the question if it is open, else opens the next one. It does nothing if
// the match has another current question. Before the countdown is over it returns a
// refusal with the remaining time.
func (e *Engine) Proceed(ctx context.Context, match string, after int) error {
	seenPhase, remainingMS := Phase(""), int64(0)
	err := e.requestStep(ctx, match, func(plan *Plan, view View, now int64) (Step, bool) {
		if seenPhase != "" && seenPhase != view.Phase { // the phase that the host saw has ended by itself
			return Step{}, false
		}
		seenPhase = view.Phase
		if view.Phase == PhaseCountdown && after == -1 && now < view.StartsAt {
			remainingMS = view.StartsAt - now
		}
		return proceedStep(plan, view, after, now)
	})
	if err == nil && remainingMS > 0 {
		return protocol.RetryAfter(protocol.CodeQuestionNotOpen, remainingMS, "the countdown is still running; wait until it is over")
	}
	return err
}

// Broadcast pushes a frame without a number to all sessions of a match on all
// nodes.
func (e *Engine) Broadcast(ctx context.Context, match string, frame []byte) {
	if local := e.findLocalMatch(match); local != nil {
		local.broadcast(frame)
	}
	e.sendToOtherNodes(ctx, kindBroadcast, map[string][]byte{match: messageHeader{Match: match}.encode(frame)})
}

// NotifyPlacesChanged tells the engine that players joined or left an arena. The players
// in its lobby at this node get a notice soon. Other nodes find the change within a second.
// It does not block.
func (e *Engine) NotifyPlacesChanged(match string) {
	local := e.findLocalMatch(match)
	if local == nil {
		return
	}
	switch local.knownState().Phase {
	case PhaseLobby:
		e.scheduleCatchUp(local)
	case PhaseOpen: // the player who left may have been the last one without an answer
		e.Wheel.After(0, func() { e.advanceDue(local) })
	}
}
