package match

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

// maxLobbyMS is how long an arena may stay in its lobby.
const maxLobbyMS = 12 * 60 * 60 * 1000

// CreateArena creates the match of an arena in its lobby.
func (e *Engine) CreateArena(ctx context.Context, p *Plan) error {
	_, err := e.create(ctx, p, State{
		Phase: Lobby, Question: -1, LastDecided: -1, DueAt: e.Now() + maxLobbyMS, HostPaced: p.Arena.HostPaced,
	}, nil)
	return err
}

// ReadArena returns the plan, state, listed seats and teams of an arena, or
// ErrNotFound.
func (e *Engine) ReadArena(ctx context.Context, match string) (View, error) {
	l, err := e.loadMatch(ctx, match)
	if err != nil {
		return View{}, err
	}
	v, err := e.read(ctx, l, -1)
	v.Plan = l.plan
	return v, err
}

// StartArena starts the countdown of an arena. It does nothing unless the arena is
// in its lobby.
func (e *Engine) StartArena(ctx context.Context, match string) error {
	return e.requestStep(ctx, match, beginStep)
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
	err := e.requestStep(ctx, match, func(p *Plan, v View, now int64) (Step, bool) {
		if seenPhase != "" && seenPhase != v.Phase { // the phase that the host saw has ended by itself
			return Step{}, false
		}
		seenPhase = v.Phase
		if v.Phase == Countdown && after == -1 && now < v.StartsAt {
			remainingMS = v.StartsAt - now
		}
		return proceedStep(p, v, after, now)
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
	if l := e.findLocal(match); l != nil {
		e.expel(l, player, frames)
	}
	e.send(ctx, match, kindExpel, header{Match: match, Player: player}.encode(frames...))
}

func (e *Engine) expel(l *localMatch, player string, frames [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sub := l.subs[player]
	delete(l.subs, player)
	delete(l.members, player)
	e.removeAttached(l, player)
	if sub != nil && len(frames) > 0 {
		sub.Push("", frames...)
	}
}

// Broadcast pushes a frame without a number to all sessions of a match on all
// nodes.
func (e *Engine) Broadcast(ctx context.Context, match string, frame []byte) {
	if l := e.findLocal(match); l != nil {
		l.broadcast(frame)
	}
	e.send(ctx, match, kindPush, header{Match: match}.encode(frame))
}

// send sends a message to the other nodes that hold sessions of a match.
func (e *Engine) send(ctx context.Context, match, kind string, payload []byte) {
	nodes, err := e.Store.Nodes(ctx, match)
	if err != nil {
		e.Logger.Warn("message to other nodes failed", "match", match, "kind", kind, "error", err)
		return
	}
	e.Bus.Send(ctx, nodes, kind, payload)
}

// hostReportInterval is the interval at which a node reports a present host to the
// store.
const hostReportEvery = 3 * time.Second

// reportHosts reports the hosts at this node whose arenas wait for them.
func (e *Engine) reportHosts(ctx context.Context) error {
	for _, l := range e.runningMatches() {
		if l.knownState().HostPaced && l.hasHost() {
			e.reportHost(ctx, l)
		}
	}
	return ctx.Err()
}

// reportHost reports to the store that the host of an arena is present, at most
// once per hostReportInterval.
func (e *Engine) reportHost(ctx context.Context, l *localMatch) {
	now := e.Now()
	l.mu.Lock()
	recent := now-l.hostReportedAt < hostReportEvery.Milliseconds()
	if !recent {
		l.hostReportedAt = now
	}
	l.mu.Unlock()
	if recent {
		return
	}
	if err := e.Store.PostponeHostDeadline(ctx, l.plan.ID, now+hostAwayMS); err != nil {
		e.Logger.Warn("host presence report failed", "match", l.plan.ID, "error", err)
	}
}
