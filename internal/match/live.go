package match

import (
	"context"
	"sync"

	"laststand/internal/timer"
)

// live is a match as this node holds it: its plan, what it knows of its
// state, its timer, and its feed: the numbered pushes on their way to the
// sessions of its players at this node.
type live struct {
	plan *Plan

	mu    sync.Mutex
	state State // the newest seen here; its Seq is the last number delivered
	subs  map[string]Subscriber
	timer *timer.Timer
	bots  int // question that the bots were set on last; -1 for none
}

func newLive(v View) *live {
	return &live{plan: v.Plan, state: v.State, subs: make(map[string]Subscriber), bots: -1}
}

// frames are consecutive numbered pushes.
type frames struct {
	first int64 // number of the first
	bytes [][]byte
}

// known is the newest state seen here.
func (l *live) known() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// deliver hands frames to the sessions, in order and once each. Where frames
// before them are missing here, read is asked for all after the last
// delivered, and they are delivered instead; it says whether that was so.
func (l *live) deliver(ctx context.Context, f frames, read func(ctx context.Context, after int64) (View, error)) (gap bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f.first > l.state.Seq+1 {
		v, err := read(ctx, l.state.Seq)
		if err != nil {
			return true, err
		}
		l.catchUp(v)
		return true, nil
	}
	l.push(f)
	return false, nil
}

// attach adds a session to the feed, after the view's frames beyond the number
// that it has. The caller holds mu.
func (l *live) attach(a Attachment, v View) {
	l.subs[a.Player] = a.Sub
	before := v.Seq - int64(len(v.Frames)) // the number before the first frame
	for i, frame := range v.Frames {
		if before+int64(i)+1 > a.After {
			a.Sub.Push(l.plan.ID, frame)
		}
	}
}

// catchUp delivers what a view's frames hold beyond the last delivered, and
// takes its state over. The caller holds mu.
func (l *live) catchUp(v View) {
	l.push(frames{first: v.Seq - int64(len(v.Frames)) + 1, bytes: v.Frames})
	l.moveTo(v.State)
}

// push delivers frames that follow on what was delivered. The caller holds
// mu. Sessions are visited from a random one on (map order).
func (l *live) push(f frames) {
	for i, frame := range f.bytes {
		seq := f.first + int64(i)
		if seq != l.state.Seq+1 {
			continue // delivered before
		}
		l.state.Seq = seq
		for _, sub := range l.subs {
			sub.Push(l.plan.ID, frame)
		}
	}
}

// moveTo takes a state over, unless a newer one is known. The caller holds mu.
func (l *live) moveTo(s State) {
	if newer(s, l.state) {
		s.Seq = l.state.Seq
		l.state = s
	}
}

// reach takes over the state of a step whose pushes have been delivered.
func (l *live) reach(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.moveTo(s)
}

// detach removes a session from the feed, unless a newer one of the same
// player has replaced it.
func (l *live) detach(player string, sub Subscriber) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.subs[player] == sub {
		delete(l.subs, player)
	}
}

// rearm replaces the timer; nil only stops it. The caller holds mu.
func (l *live) rearm(t *timer.Timer) {
	if l.timer != nil {
		l.timer.Stop()
	}
	l.timer = t
}

// newer says whether a state is as far in the course of a match as another,
// or further.
func newer(a, b State) bool {
	if a.Question != b.Question {
		return a.Question > b.Question
	}
	return order[a.Phase] >= order[b.Phase]
}

var order = map[Phase]int{Countdown: 0, Open: 1, Sealed: 2, Revealed: 3, Over: 4, Settled: 5}
