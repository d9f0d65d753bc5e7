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

// alone is the bus of a node that has no others.
type alone struct{}

func (alone) Send(context.Context, []string, string, []byte) {}

// The kinds of messages that engines send each other.
const (
	kindNews  = "match.news"  // frames of a match, and the state they lead to
	kindLobby = "match.lobby" // players of an arena came or went
	kindPush  = "match.push"  // a frame without a number for everybody in a match
	kindExpel = "match.expel" // somebody has no place in an arena any more
)

// Receivers are what is to be done with the messages of other nodes, by kind.
// They do not block.
func (e *Engine) Receivers() map[string]func(payload []byte) {
	return map[string]func([]byte){
		kindNews: e.onNews, kindLobby: e.onLobby, kindPush: e.onPush, kindExpel: e.onExpel,
	}
}

// news is what a node tells of a match: frames, and the state that they lead to
// where there is a new one.
type news struct {
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

func readMessage(payload []byte) (h header, frames [][]byte, err error) {
	lines := bytes.Split(payload, []byte("\n"))
	return h, lines[1:], json.Unmarshal(lines[0], &h)
}

// publish tells other nodes what this one has done to a match; where there are
// none it encodes nothing.
func (e *Engine) publish(ctx context.Context, l *live, nodes []string, n news) {
	if !slices.ContainsFunc(nodes, func(node string) bool { return node != e.Node }) {
		return
	}
	h := header{Match: l.plan.ID, First: n.frames.first, Version: n.version, State: n.state}
	e.Bus.Send(ctx, nodes, kindNews, h.encode(n.frames.bytes...))
}

// onNews delivers what another node has done to a match that this one holds.
// Where something before it was missed, that is read from the log, aside.
func (e *Engine) onNews(payload []byte) {
	l, h, lines := e.addressee(payload)
	if l == nil {
		return
	}
	l.see(h.Version)
	l.heard(h.State)
	if l.receive(delivery{frames: frames{first: h.First, bytes: lines}, state: h.State}) {
		e.arm(l)
		e.moved(l)
		return
	}
	e.metrics.gaps.Inc()
	if l.reads(true) {
		e.Wheel.After(0, func() { e.catchUp(l) })
	}
}

// reads notes whether what was missed is about to be read, and says whether
// that is new.
func (l *live) reads(soon bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.reading
	l.reading = soon
	return was != soon
}

// catchUp reads what this node has missed of a match.
func (e *Engine) catchUp(l *live) {
	l.reads(false)
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	v, err := e.read(ctx, l, l.known().Seq)
	if err != nil {
		if e.lost(ctx, l, err) != nil {
			e.Logger.Debug("missed pushes could not be read; the next search does", "match", l.plan.ID, "error", err)
		}
		return
	}
	e.follow(l, v)
}

// Resync looks at once for what messages may have been lost: the bus calls it
// when it was out of reach. It does not block.
func (e *Engine) Resync() {
	e.Wheel.After(time.Millisecond, func() { e.round(context.Background(), roundGaps, e.fillGaps) })
}

func (e *Engine) onPush(payload []byte) {
	if l, _, lines := e.addressee(payload); l != nil {
		l.tellAll(lines...)
	}
}

func (e *Engine) onExpel(payload []byte) {
	l, h, lines := e.addressee(payload)
	if l != nil {
		e.expel(l, h.Player, lines)
	}
}

func (e *Engine) onLobby(payload []byte) {
	if l, _, _ := e.addressee(payload); l != nil {
		e.noteLobby(l, true)
	}
}

// addressee finds the match that a message is about, nil where this node does
// not hold it or the message is not understood.
func (e *Engine) addressee(payload []byte) (*live, header, [][]byte) {
	h, lines, err := readMessage(payload)
	if err != nil {
		e.Logger.Warn("a message of another node is not understood; is it of another version?", "error", err)
		return nil, h, nil
	}
	return e.held(h.Match), h, lines
}
