package players

import (
	"encoding/json"
	"slices"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// received is a frame that next returns.
type received struct {
	checker.Frame
	request *request // that the frame answers; nil: it is a push
}

// breach ends a match, because the server broke the contract.
func breach(format string, args ...any) { testenv.MustDo(checker.ContractError(format, args...)) }

// decode decodes the data of a frame.
func decode[T any](h received) (v T) {
	testenv.MustDo(json.Unmarshal(h.Data, &v))
	return v
}

// handleFrame handles what concerns the connection, and returns the frame. It returns an empty
// one for live pushes before the state of their match, because the server sends them again
// after the state.
func (p *member) handleFrame(f checker.Frame) received {
	switch {
	case f.Re != nil:
		return p.matchReply(received{Frame: f})
	case f.Seq != 0 && f.Match == p.stateOf:
		return received{}
	case f.Type == protocol.TypeDraining:
		d := decode[protocol.Draining](received{Frame: f})
		p.leaveAt = f.ReceivedAt.Add(time.Duration(d.ReconnectAfterMS) * time.Millisecond)
	}
	return received{Frame: f}
}

// matchReply matches a reply with its request. After the reply to a request to join, it
// requests the beginning of a match that the arena has already started.
func (p *member) matchReply(h received) received {
	i := slices.IndexFunc(p.unanswered, func(q *request) bool { return q.id == *h.Re })
	if i < 0 {
		breach("this answers nothing that was asked: %s", h.Raw)
	}
	h.request = p.unanswered[i]
	p.unanswered = slices.Delete(p.unanswered, i, i+1)
	switch {
	case h.request.kind == protocol.TypePing:
		return received{}
	case h.request.kind == protocol.TypeMatchSync:
		return p.handleState(h)
	case h.Type == protocol.TypeArenaJoined:
		a := decode[protocol.ArenaJoined](h)
		if playing, _ := p.view.Position(); a.Match != "" && a.Match != playing && a.Match != p.stateOf {
			p.requestState(a.Match)
		}
	}
	return h
}

// handleState handles the reply to a resume or a match.sync. If the server could not give the
// state, the client asks another server.
func (p *member) handleState(h received) received {
	match, seq := p.view.Position()
	if h.Type == protocol.TypeError {
		e := decode[protocol.Error](h)
		if e.Code != protocol.CodeUnavailable && e.Code != protocol.CodeOverloaded {
			breach("%s could not be resumed after %d: %s", p.stateOf, seq, h.Raw)
		}
		p.leaveAt = time.Now().Add(time.Duration(e.RetryAfterMS) * time.Millisecond)
		return received{}
	}
	s := decode[protocol.MatchState](h)
	if s.Seq < seq {
		breach("%s stands at %d, and %d was seen: %s", match, s.Seq, seq, h.Raw)
	}
	p.stateOf = ""
	p.group.Stats.Count("match resumed", 1)
	p.group.Stats.Count("pushes missed", s.Seq-seq)
	return h
}
