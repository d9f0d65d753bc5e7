package match

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
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

// messenger exchanges messages with the engines of other nodes.
type messenger struct{ *registry }

// publishStep sends a step to the other nodes that hold sessions of the match.
// It encodes nothing if there are none.
func (m *messenger) publishStep(ctx context.Context, local *localMatch, nodes []string, event stepEvent) {
	if !slices.ContainsFunc(nodes, func(node string) bool { return node != m.Node }) {
		return
	}
	head := messageHeader{Match: local.plan.ID, FirstSeq: event.frames.firstSeq, Version: event.version, State: event.state}
	m.Bus.Send(ctx, nodes, kindStep, head.encode(event.frames.encoded...))
}

// sendToOtherNodes sends a message to the other nodes that hold sessions of a match.
func (m *messenger) sendToOtherNodes(ctx context.Context, match, kind string, payload []byte) {
	nodes, err := m.Places.Nodes(ctx, match)
	if err != nil {
		m.Logger.Warn("message to other nodes failed", "match", match, "kind", kind, "error", err)
		return
	}
	m.Bus.Send(ctx, nodes, kind, payload)
}

// findMatchForMessage returns the local match of a message. It returns nil if this
// node does not hold the match or cannot decode the message.
func (m *messenger) findMatchForMessage(payload []byte) (*localMatch, messageHeader, [][]byte) {
	h, lines, err := decodeMessage(payload)
	if err != nil {
		m.Logger.Warn("message of another node not decoded; check that all nodes run compatible versions", "error", err)
		return nil, h, nil
	}
	return m.findLocalMatch(h.Match), h, lines
}
