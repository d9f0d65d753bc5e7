package match

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

// lobbyMS is how long an arena may wait for its start.
const lobbyMS = 12 * 60 * 60 * 1000

// Open creates the match of an arena, in its lobby.
func (e *Engine) Open(ctx context.Context, p *Plan) error {
	_, err := e.create(ctx, p, State{
		Phase: Lobby, Question: -1, Last: -1, DueAt: e.Now() + lobbyMS, HostPaced: p.Arena.HostPaced,
	}, nil)
	return err
}

// Look reads an arena: its plan, state, shown seats and teams; ErrNotFound.
func (e *Engine) Look(ctx context.Context, match string) (View, error) {
	l, err := e.live(ctx, match)
	if err != nil {
		return View{}, err
	}
	v, err := e.read(ctx, l, -1)
	v.Plan = l.plan
	return v, err
}

// Begin starts the countdown of an arena. One that has begun is left as it is.
func (e *Engine) Begin(ctx context.Context, match string) error {
	return e.drive(ctx, match, begin)
}

// Shut ends an arena. One that is over is left as it is.
func (e *Engine) Shut(ctx context.Context, match string) error {
	return e.drive(ctx, match, shut)
}

// Proceed goes on from a question, -1 before the first: it closes it if it is
// open, else it opens the next; a question left behind is left. Before the
// countdown is over it is refused.
func (e *Engine) Proceed(ctx context.Context, match string, after int) error {
	met, early := Phase(""), int64(0)
	err := e.drive(ctx, match, func(p *Plan, v View, now int64) (Step, bool) {
		if met != "" && met != v.Phase { // what the host was looking at is over by itself
			return Step{}, false
		}
		met = v.Phase
		if v.Phase == Countdown && after == -1 && now < v.StartsAt {
			early = v.StartsAt - now
		}
		return proceed(p, v, after, now)
	})
	if err == nil && early > 0 {
		return protocol.RetryAfter(protocol.CodeQuestionNotOpen, early, "the countdown is not over yet")
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
	if l := e.held(match); l != nil {
		e.expel(l, player, frames)
	}
	e.send(ctx, match, kindExpel, header{Match: match, Player: player}.encode(frames...))
}

func (e *Engine) expel(l *live, player string, frames [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	sub := l.subs[player]
	delete(l.subs, player)
	delete(l.members, player)
	e.forget(l, player)
	if sub != nil && len(frames) > 0 {
		sub.Push("", frames...)
	}
}

// Farewell pushes a frame without a number to everybody in a match, on all
// nodes.
func (e *Engine) Farewell(ctx context.Context, match string, frame []byte) {
	if l := e.held(match); l != nil {
		l.tellAll(frame)
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

// hostTouch is how often the store is told that a host is here.
const hostTouch = 3 * time.Second

// touchHosts tells the store which hosts are here, whose arenas wait for them.
func (e *Engine) touchHosts(ctx context.Context) error {
	for _, l := range e.unfinished() {
		if l.known().HostPaced && l.hostIsHere() {
			e.hostHere(ctx, l)
		}
	}
	return ctx.Err()
}

// hostHere tells the store, from time to time, that the host of an arena is
// here.
func (e *Engine) hostHere(ctx context.Context, l *live) {
	now := e.Now()
	l.mu.Lock()
	fresh := now-l.hostAt < hostTouch.Milliseconds()
	if !fresh {
		l.hostAt = now
	}
	l.mu.Unlock()
	if fresh {
		return
	}
	if err := e.Store.HostHere(ctx, l.plan.ID, now+hostAwayMS); err != nil {
		e.Logger.Warn("a host's presence could not be noted", "match", l.plan.ID, "error", err)
	}
}
