package match

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Bus sends messages to other nodes. It is best effort: the search for missed
// pushes recovers lost messages. Send returns quickly and skips this node.
type Bus interface {
	Send(ctx context.Context, nodes []string, kind string, payload []byte)
}

// noBus is the bus of a single node.
type noBus struct{}

func (noBus) Send(context.Context, []string, string, []byte) {}

// The kinds of messages that engines send each other.
const (
	kindStep  = "match.step"  // a step: frames of a match, and the state after them
	kindLobby = "match.lobby" // players joined or left an arena
	kindPush  = "match.push"  // a frame without a number for every session of a match
	kindExpel = "match.expel" // a player has lost the place in an arena
)

// Handlers returns the functions that handle messages of other nodes, by kind.
// They do not block.
func (e *Engine) Handlers() map[string]func(payload []byte) {
	return map[string]func([]byte){
		kindStep: e.onStep, kindLobby: e.onLobby, kindPush: e.onPush, kindExpel: e.onExpel,
	}
}

// stepEvent is what other nodes receive after a step or an accepted answer: the
// new frames, and the new state after a step (else nil).
type stepEvent struct {
	frames  frames
	state   *State
	version int64
}

// header is the first line of a message. Frames follow, one per line.
type header struct {
	Match   string `json:"match"`
	Player  string `json:"player,omitempty"`
	First   int64  `json:"first,omitempty"`
	Version int64  `json:"version,omitempty"`
	State   *State `json:"state,omitempty"`
}

func (h header) encode(frames ...[]byte) []byte {
	head, _ := json.Marshal(h) // plain fields always encode
	return bytes.Join(append([][]byte{head}, frames...), []byte("\n"))
}

func decodeMessage(payload []byte) (h header, frames [][]byte, err error) {
	lines := bytes.Split(payload, []byte("\n"))
	return h, lines[1:], json.Unmarshal(lines[0], &h)
}

// publishStep sends a step to the other nodes that hold sessions of the match.
// It encodes nothing if there are none.
func (e *Engine) publishStep(ctx context.Context, l *localMatch, nodes []string, n stepEvent) {
	if !slices.ContainsFunc(nodes, func(node string) bool { return node != e.Node }) {
		return
	}
	h := header{Match: l.plan.ID, First: n.frames.first, Version: n.version, State: n.state}
	e.Bus.Send(ctx, nodes, kindStep, h.encode(n.frames.bytes...))
}

// onStep delivers a step of another node to the local match. If earlier pushes
// are missing, it schedules a read of the log.
func (e *Engine) onStep(payload []byte) {
	l, h, lines := e.findMessageMatch(payload)
	if l == nil {
		return
	}
	l.updateVersion(h.Version)
	l.noteRemoteStep(h.State)
	if l.deliver(delivery{frames: frames{first: h.First, bytes: lines}, state: h.State}) {
		e.armTimer(l)
		e.scheduleNotices(l)
		return
	}
	e.metrics.filledGaps.Inc()
	if l.setCatchingUp(true) {
		e.Wheel.After(0, func() { e.catchUp(l) })
	}
}

// setCatchingUp records whether a read of missed pushes is scheduled. It
// reports whether that changed.
func (l *localMatch) setCatchingUp(catchingUp bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	former := l.catchingUp
	l.catchingUp = catchingUp
	return former != catchingUp
}

// catchUp reads what this node has missed of a match.
func (e *Engine) catchUp(l *localMatch) {
	l.setCatchingUp(false)
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	v, err := e.read(ctx, l, l.knownState().Seq)
	if err != nil {
		if e.handleLoss(ctx, l, err) != nil {
			e.Logger.Debug("read of missed pushes failed; the next search retries", "match", l.plan.ID, "error", err)
		}
		return
	}
	e.adoptView(l, v)
}

// FillGapsNow starts a search for missed pushes immediately. The bus calls it after it was
// disconnected. It does not block.
func (e *Engine) FillGapsNow() {
	e.Wheel.After(time.Millisecond, func() { e.runRound(context.Background(), roundGaps, e.fillGaps) })
}

func (e *Engine) onPush(payload []byte) {
	if l, _, lines := e.findMessageMatch(payload); l != nil {
		l.broadcast(lines...)
	}
}

func (e *Engine) onExpel(payload []byte) {
	l, h, lines := e.findMessageMatch(payload)
	if l != nil {
		e.expel(l, h.Player, lines)
	}
}

func (e *Engine) onLobby(payload []byte) {
	if l, _, _ := e.findMessageMatch(payload); l != nil {
		e.scheduleLobbyNotice(l, true)
	}
}

// findMessageMatch returns the local match of a message. It returns nil if this
// node does not hold the match or cannot decode the message.
func (e *Engine) findMessageMatch(payload []byte) (*localMatch, header, [][]byte) {
	h, lines, err := decodeMessage(payload)
	if err != nil {
		e.Logger.Warn("message of another node not decoded; check that all nodes run compatible versions", "error", err)
		return nil, h, nil
	}
	return e.findLocal(h.Match), h, lines
}
