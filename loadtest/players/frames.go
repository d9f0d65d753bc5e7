package players

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// received is a frame that next returns.
type received struct {
	checker.Frame
	request *request // that the frame answers; nil: it is a push
}

// handleFrame handles what concerns the connection, and returns the frame. It returns an empty
// one for live pushes before the state of their match, because the server sends them again
// after the state.
func (p *member) handleFrame(f checker.Frame) (received, error) {
	switch {
	case f.Re != nil:
		return p.matchReply(received{Frame: f})
	case f.Seq != 0 && f.Match == p.stateOf:
		return received{}, nil
	case f.Type == protocol.TypeDraining:
		d, err := decode[protocol.Draining](received{Frame: f})
		if err != nil {
			return received{}, err
		}
		p.leaveAt = f.ReceivedAt.Add(time.Duration(d.ReconnectAfterMS) * time.Millisecond)
	}
	return received{Frame: f}, nil
}

// matchReply matches a reply with its request. After the reply to a request to join, it
// requests the beginning of a match that the arena has already started.
func (p *member) matchReply(h received) (received, error) {
	i := slices.IndexFunc(p.unanswered, func(q *request) bool { return q.id == *h.Re })
	if i < 0 {
		return h, fmt.Errorf("%w: this answers nothing that was asked: %s", checker.ErrContract, h.Raw)
	}
	h.request = p.unanswered[i]
	p.unanswered = slices.Delete(p.unanswered, i, i+1)
	switch {
	case h.request.kind == protocol.TypePing:
		return received{}, nil
	case h.request.kind == protocol.TypeMatchSync:
		return p.handleState(h)
	case h.Type == protocol.TypeArenaJoined:
		a, err := decode[protocol.ArenaJoined](h)
		if err != nil {
			return h, err
		}
		if playing, _ := p.view.Position(); a.Match != "" && a.Match != playing && a.Match != p.stateOf {
			p.requestState(a.Match)
		}
	}
	return h, nil
}

// handleState handles the reply to a resume or a match.sync. If the server could not give the
// state, the client asks another server.
func (p *member) handleState(h received) (received, error) {
	match, seq := p.view.Position()
	if h.Type == protocol.TypeError {
		e, err := decode[protocol.Error](h)
		switch {
		case err != nil:
			return h, err
		case e.Code == protocol.CodeUnavailable, e.Code == protocol.CodeOverloaded:
			p.leaveAt = time.Now().Add(time.Duration(e.RetryAfterMS) * time.Millisecond)
			return received{}, nil
		}
		return h, fmt.Errorf("%w: %s could not be resumed after %d: %s", checker.ErrContract, p.stateOf, seq, h.Raw)
	}
	s, err := decode[protocol.MatchState](h)
	if err != nil {
		return h, err
	}
	if s.Seq < seq {
		return h, fmt.Errorf("%w: %s stands at %d, and %d was seen: %s", checker.ErrContract, match, s.Seq, seq, h.Raw)
	}
	p.stateOf = ""
	p.group.Stats.Count("match resumed", 1)
	p.group.Stats.Count("pushes missed", s.Seq-seq)
	return h, nil
}

// decode decodes the data of a frame.
func decode[T any](h received) (v T, err error) {
	err = json.Unmarshal(h.Data, &v)
	return v, err
}
