package match

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// Bus sends messages to other nodes. It is best effort: the search for missed
// pushes recovers lost messages. Send returns quickly and skips this node.
type Bus interface {
	Send(ctx context.Context, nodes []string, kind string, payload []byte)
}

// The kinds of messages that engines send each other.
const (
	kindStep      = "match.step"  // a step or an accepted answer: frames of a match, and the state after a step
	kindBroadcast = "match.push"  // a frame without a number for every session of a match
	kindExpel     = "match.expel" // a player has lost the place in an arena
	kindSettled   = "match.settled"
)

// messageHeader is the first line of a message. Frames follow, one per line.
type messageHeader struct {
	Match    string `json:"match"`
	Player   string `json:"player,omitempty"`
	FirstSeq int64  `json:"first,omitempty"`
	Version  int64  `json:"version,omitempty"`
	State    *State `json:"state,omitempty"` // nil after an answer
	// Answer is the answer that a step of a duel has accepted, without a player if it has
	// accepted none. It is nil for an arena, and from a program before this field.
	Answer *knownAnswer `json:"answer,omitempty"`
	// Ratings are the final ratings after a settled match, by player.
	Ratings map[string]int `json:"ratings,omitempty"`
}

// knownAnswer is an accepted answer to a duel, and the totals of its player with it.
type knownAnswer struct {
	Record Record `json:"record"`
	Totals Totals `json:"totals"`
}

func (h messageHeader) encode(frames ...[]byte) []byte {
	head, _ := json.Marshal(h) // plain fields always encode
	return bytes.Join(append([][]byte{head}, frames...), []byte("\n"))
}

// publish sends the frames of a step or an accepted answer to the other nodes that hold
// sessions of the match. It encodes nothing if there are none.
func (r *registry) publish(ctx context.Context, nodes []string, header messageHeader, frames numberedFrames) {
	if r.hasOtherNodes(nodes) {
		header.FirstSeq = frames.firstSeq
		r.Bus.Send(ctx, nodes, kindStep, header.encode(frames.encoded...))
	}
}

// hasOtherNodes reports whether another node is among nodes.
func (r *registry) hasOtherNodes(nodes []string) bool {
	return slices.ContainsFunc(nodes, func(node string) bool { return node != r.Node })
}

// sendToOtherNodes sends messages, by their match, to the other nodes that hold sessions of
// that match.
func (r *registry) sendToOtherNodes(ctx context.Context, kind string, payloads map[string][]byte) {
	nodes, err := r.Places.Nodes(ctx, slices.Collect(maps.Keys(payloads))...)
	if err != nil {
		r.Logger.Warn("messages to other nodes failed", "matches", len(payloads), "kind", kind, "error", err)
		return
	}
	for match, payload := range payloads {
		r.Bus.Send(ctx, nodes[match], kind, payload)
	}
}

// handler returns a handler of messages of other nodes. It passes those about matches that
// this node holds to handle, and skips those that it cannot decode.
func (r *registry) handler(handle func(local *localMatch, header messageHeader, frames [][]byte)) func([]byte) {
	return func(payload []byte) {
		var header messageHeader
		lines := bytes.Split(payload, []byte("\n"))
		if err := json.Unmarshal(lines[0], &header); err != nil {
			r.Logger.Warn("message of another node not decoded; check that all nodes run compatible versions", "error", err)
		} else if local := r.findLocalMatch(header.Match); local != nil {
			handle(local, header, lines[1:])
		}
	}
}
