package match

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

// maxLobbyMS is how long an arena may stay in its lobby.
const maxLobbyMS = 12 * 60 * 60 * 1000

// CreateArena creates the match of an arena in its lobby.
func (e *Engine) CreateArena(ctx context.Context, plan *Plan) error {
	_, err := e.createMatch(ctx, plan, State{
		Phase: PhaseLobby, Question: -1, LastDecided: -1, DueAt: e.Now() + maxLobbyMS, HostPaced: plan.Arena.HostPaced,
	}, nil)
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

// Expel removes a player's session from an arena on all nodes. It pushes the frame
// to that session, unless the frame is nil.
func (e *Engine) Expel(ctx context.Context, match, player string, frame []byte) {
	var frames [][]byte
	if frame != nil {
		frames = append(frames, frame)
	}
	if local := e.findLocalMatch(match); local != nil {
		e.expel(local, player, frames)
	}
	e.sendToOtherNodes(ctx, match, kindExpel, messageHeader{Match: match, Player: player}.encode(frames...))
}

func (e *Engine) expel(local *localMatch, player string, frames [][]byte) {
	local.mu.Lock()
	defer local.mu.Unlock()
	session := local.sessions[player]
	delete(local.sessions, player)
	delete(local.members, player)
	e.removeAttachedMatch(local, player)
	if session != nil && len(frames) > 0 {
		session.Push("", frames...)
	}
}

// Broadcast pushes a frame without a number to all sessions of a match on all
// nodes.
func (e *Engine) Broadcast(ctx context.Context, match string, frame []byte) {
	if local := e.findLocalMatch(match); local != nil {
		local.broadcast(frame)
	}
	e.sendToOtherNodes(ctx, match, kindBroadcast, messageHeader{Match: match}.encode(frame))
}

// sendToOtherNodes sends a message to the other nodes that hold sessions of a match.
func (e *Engine) sendToOtherNodes(ctx context.Context, match, kind string, payload []byte) {
	nodes, err := e.Store.Nodes(ctx, match)
	if err != nil {
		e.Logger.Warn("message to other nodes failed", "match", match, "kind", kind, "error", err)
		return
	}
	e.Bus.Send(ctx, nodes, kind, payload)
}

// hostReportInterval is the interval at which a node reports a present host to the
// store.
const hostReportInterval = 3 * time.Second

// reportHosts reports the hosts at this node whose arenas wait for them.
func (e *Engine) reportHosts(ctx context.Context) error {
	for _, local := range e.runningMatches() {
		if local.knownState().HostPaced && local.hasHost() {
			e.reportHost(ctx, local)
		}
	}
	return ctx.Err()
}

// reportHost reports to the store that the host of an arena is present, at most
// once per hostReportInterval.
func (e *Engine) reportHost(ctx context.Context, local *localMatch) {
	now := e.Now()
	local.mu.Lock()
	recent := now-local.hostReportedAt < hostReportInterval.Milliseconds()
	if !recent {
		local.hostReportedAt = now
	}
	local.mu.Unlock()
	if recent {
		return
	}
	if err := e.Store.PostponeHostDeadline(ctx, local.plan.ID, now+maxHostAbsenceMS); err != nil {
		e.Logger.Warn("host presence report failed", "match", local.plan.ID, "error", err)
	}
}
