package match

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Bus carries messages to other nodes. It is best effort: what is lost is found
// by the search for missed pushes. Send returns soon and leaves this node out.
type Bus interface {
	Send(ctx context.Context, nodes []string, kind string, payload []byte)
}

// noBus is the bus of a node that has no others.
type noBus struct{}

func (noBus) Send(context.Context, []string, string, []byte) {}

// The kinds of messages that engines send each other.
const (
	kindStep  = "match.step"  // frames of a match, and the state they lead to
	kindLobby = "match.lobby" // players of an arena came or went
	kindPush  = "match.push"  // a frame without a number for everybody in a match
	kindExpel = "match.expel" // somebody has no place in an arena any more
)

// Handlers are what is to be done with the messages of other nodes, by kind.
// They do not block.
func (e *Engine) Handlers() map[string]func(payload []byte) {
	return map[string]func([]byte){
		kindStep: e.onStep, kindLobby: e.onLobby, kindPush: e.onPush, kindExpel: e.onExpel,
	}
}

// stepEvent is what a node tells of a match: frames, and the state that they lead to
// where there is a new one.
type stepEvent struct {
	frames  frames
	state   *State
	version int64
}

// header is the first line of a message; what follows are frames, a line each.
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

// publishStep tells other nodes what this one has done to a match; where there are
// none it encodes nothing.
func (e *Engine) publishStep(ctx context.Context, l *localMatch, nodes []string, n stepEvent) {
	if !slices.ContainsFunc(nodes, func(node string) bool { return node != e.Node }) {
		return
	}
	h := header{Match: l.plan.ID, First: n.frames.first, Version: n.version, State: n.state}
	e.Bus.Send(ctx, nodes, kindStep, h.encode(n.frames.bytes...))
}

// onStep delivers what another node has done to a match that this one holds.
// Where something before it was missed, that is read from the log, aside.
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

// setCatchingUp notes whether what was missed is about to be read, and says whether
// that is new.
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
			e.Logger.Debug("missed pushes could not be read; the next search does", "match", l.plan.ID, "error", err)
		}
		return
	}
	e.adoptView(l, v)
}

// FillGapsNow looks at once for what messages may have been lost: the bus calls it
// when it was out of reach. It does not block.
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

// findMessageMatch finds the match that a message is about, nil where this node does
// not hold it or the message is not understood.
func (e *Engine) findMessageMatch(payload []byte) (*localMatch, header, [][]byte) {
	h, lines, err := decodeMessage(payload)
	if err != nil {
		e.Logger.Warn("a message of another node is not understood; is it of another version?", "error", err)
		return nil, h, nil
	}
	return e.findLocal(h.Match), h, lines
}
