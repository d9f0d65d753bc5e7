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
	kindStep      = "match.step"  // a step: frames of a match, and the state after them
	kindLobby     = "match.lobby" // players joined or left an arena
	kindBroadcast = "match.push"  // a frame without a number for every session of a match
	kindExpel     = "match.expel" // a player has lost the place in an arena
	kindSettled   = "match.settled"
)

// Handlers returns the functions that handle messages of other nodes, by kind.
// They do not block.
func (e *Engine) Handlers() map[string]func(payload []byte) {
	return map[string]func([]byte){
		kindStep: e.onStep, kindLobby: e.onLobby, kindBroadcast: e.onBroadcast, kindExpel: e.onExpel, kindSettled: e.onSettled,
	}
}

// stepEvent is what other nodes receive after a step or an accepted answer: the
// new frames, and the new state after a step (else nil).
type stepEvent struct {
	frames  numberedFrames
	state   *State
	version int64
}

// messageHeader is the first line of a message. Frames follow, one per line.
type messageHeader struct {
	Match    string `json:"match"`
	Player   string `json:"player,omitempty"`
	FirstSeq int64  `json:"first,omitempty"`
	Version  int64  `json:"version,omitempty"`
	State    *State `json:"state,omitempty"`
	// Ratings are the final ratings after a settled match, by player.
	Ratings map[string]int `json:"ratings,omitempty"`
}

func (h messageHeader) encode(frames ...[]byte) []byte {
	head, _ := json.Marshal(h) // plain fields always encode
	return bytes.Join(append([][]byte{head}, frames...), []byte("\n"))
}

func decodeMessage(payload []byte) (head messageHeader, frames [][]byte, err error) {
	lines := bytes.Split(payload, []byte("\n"))
	return head, lines[1:], json.Unmarshal(lines[0], &head)
}

// publishStep sends a step to the other nodes that hold sessions of the match.
// It encodes nothing if there are none.
func (e *Engine) publishStep(ctx context.Context, local *localMatch, nodes []string, event stepEvent) {
	if !slices.ContainsFunc(nodes, func(node string) bool { return node != e.Node }) {
		return
	}
	head := messageHeader{Match: local.plan.ID, FirstSeq: event.frames.firstSeq, Version: event.version, State: event.state}
	e.Bus.Send(ctx, nodes, kindStep, head.encode(event.frames.encoded...))
}

// onStep delivers a step of another node to the local match. If earlier pushes
// are missing, it schedules a read of the log.
func (e *Engine) onStep(payload []byte) {
	local, h, lines := e.findMatchForMessage(payload)
	if local == nil {
		return
	}
	local.updateVersion(h.Version)
	local.noteRemoteStep(h.State)
	if local.deliver(delivery{frames: numberedFrames{firstSeq: h.FirstSeq, encoded: lines}, state: h.State}) {
		e.armTimer(local)
		e.scheduleNotices(local)
		return
	}
	e.metrics.filledGaps.Inc()
	if local.setCatchingUp(true) {
		e.Wheel.After(0, func() { e.catchUp(local) })
	}
}

// setCatchingUp records whether a read of missed pushes is scheduled. It
// reports whether that changed.
func (l *localMatch) setCatchingUp(catchingUp bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	wasCatchingUp := l.catchingUp
	l.catchingUp = catchingUp
	return wasCatchingUp != catchingUp
}

// catchUp reads what this node has missed of a match.
func (e *Engine) catchUp(local *localMatch) {
	local.setCatchingUp(false)
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	view, err := e.read(ctx, local, local.knownState().Seq)
	if err != nil {
		if e.handleLoss(ctx, local, err) != nil {
			e.Logger.Debug("read of missed pushes failed; the next search retries", "match", local.plan.ID, "error", err)
		}
		return
	}
	e.adoptView(local, view)
}

// FillGapsNow starts a search for missed pushes immediately. The bus calls it after it was
// disconnected. It does not block.
func (e *Engine) FillGapsNow() {
	e.Wheel.After(time.Millisecond, func() { e.runRound(context.Background(), roundGaps, e.fillGaps) })
}

func (e *Engine) onBroadcast(payload []byte) {
	if local, _, lines := e.findMatchForMessage(payload); local != nil {
		local.broadcast(lines...)
	}
}

func (e *Engine) onExpel(payload []byte) {
	local, h, lines := e.findMatchForMessage(payload)
	if local != nil {
		e.expel(local, h.Player, lines)
	}
}

func (e *Engine) onLobby(payload []byte) {
	if local, _, _ := e.findMatchForMessage(payload); local != nil {
		e.scheduleLobbyNotice(local, true)
	}
}

// findMatchForMessage returns the local match of a message. It returns nil if this
// node does not hold the match or cannot decode the message.
func (e *Engine) findMatchForMessage(payload []byte) (*localMatch, messageHeader, [][]byte) {
	h, lines, err := decodeMessage(payload)
	if err != nil {
		e.Logger.Warn("message of another node not decoded; check that all nodes run compatible versions", "error", err)
		return nil, h, nil
	}
	return e.findLocalMatch(h.Match), h, lines
}
