package match

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

// maxLobbyMS is how long an arena may wait for its start.
const maxLobbyMS = 12 * 60 * 60 * 1000

// CreateArena creates the match of an arena, in its lobby.
func (e *Engine) CreateArena(ctx context.Context, p *Plan) error {
	_, err := e.create(ctx, p, State{
		Phase: Lobby, Question: -1, LastDecided: -1, DueAt: e.Now() + maxLobbyMS, HostPaced: p.Arena.HostPaced,
	}, nil)
	return err
}

// ReadArena reads an arena: its plan, state, shown seats and teams; ErrNotFound.
func (e *Engine) ReadArena(ctx context.Context, match string) (View, error) {
	l, err := e.loadMatch(ctx, match)
	if err != nil {
		return View{}, err
	}
	v, err := e.read(ctx, l, -1)
	v.Plan = l.plan
	return v, err
}

// StartArena starts the countdown of an arena. One that has begun is left as it is.
func (e *Engine) StartArena(ctx context.Context, match string) error {
	return e.requestStep(ctx, match, beginStep)
}

// CloseArena ends an arena. One that is over is left as it is.
func (e *Engine) CloseArena(ctx context.Context, match string) error {
	return e.requestStep(ctx, match, closeArenaStep)
}

// Proceed goes on from a question, -1 before the first: it closes it if it is
// open, else it opens the next; a question left behind is left. Before the
// countdown is over it is refused.
func (e *Engine) Proceed(ctx context.Context, match string, after int) error {
	seenPhase, remainingMS := Phase(""), int64(0)
	err := e.requestStep(ctx, match, func(p *Plan, v View, now int64) (Step, bool) {
		if seenPhase != "" && seenPhase != v.Phase { // what the host was looking at is over by itself
			return Step{}, false
		}
		seenPhase = v.Phase
		if v.Phase == Countdown && after == -1 && now < v.StartsAt {
			remainingMS = v.StartsAt - now
		}
		return proceedStep(p, v, after, now)
	})
	if err == nil && remainingMS > 0 {
		return protocol.RetryAfter(protocol.CodeQuestionNotOpen, remainingMS, "the countdown is not over yet")
	}
	return err
}

// Expel takes somebody's session out of an arena's feed, on whatever node, and
// pushes it a frame; nil for none.
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

// Broadcast pushes a frame without a number to everybody in a match, on all
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
		e.Logger.Warn("other nodes could not be told", "match", match, "kind", kind, "error", err)
		return
	}
	e.Bus.Send(ctx, nodes, kind, payload)
}

// hostReportEvery is how often the store is told that a host is here.
const hostReportEvery = 3 * time.Second

// reportHosts tells the store which hosts are here, whose arenas wait for them.
func (e *Engine) reportHosts(ctx context.Context) error {
	for _, l := range e.runningMatches() {
		if l.knownState().HostPaced && l.hasHost() {
			e.reportHost(ctx, l)
		}
	}
	return ctx.Err()
}

// reportHost tells the store, from time to time, that the host of an arena is
// here.
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
		e.Logger.Warn("a host's presence could not be noted", "match", l.plan.ID, "error", err)
	}
}
