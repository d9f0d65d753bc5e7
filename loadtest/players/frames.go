package players

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// sortFrame queues a frame for next, or handles it in the client.
func (p *member) sortFrame(f checker.Frame) error {
	h := received{Frame: f, clusterMS: f.ReceivedAt.UnixMilli() + p.connection.ClockLeadMS}
	switch {
	case f.Re != nil:
		return p.matchReply(h)
	case f.Seq != 0:
		return p.sortPush(h)
	case f.Type == protocol.TypeDraining:
		d, err := decode[protocol.Draining](h)
		if err != nil {
			return err
		}
		p.leaveAt = f.ReceivedAt.Add(time.Duration(d.ReconnectAfterMS) * time.Millisecond)
	}
	p.waiting = append(p.waiting, h)
	return nil
}

// sortPush queues a push of a match. While the client waits for the state, it drops
// live pushes. The server sends them again after the state.
func (p *member) sortPush(h received) error {
	if p.stateRequest != 0 && h.Match == p.match {
		return nil
	}
	if p.lastSeq == 0 {
		p.match = h.Match
	}
	if h.Match != p.match || h.Seq != p.lastSeq+1 {
		return fmt.Errorf("%w: push %d of %s came where %d of %s was due: %s", checker.ErrContract, h.Seq, h.Match, p.lastSeq+1, p.match, h.Raw)
	}
	p.lastSeq++
	if h.Type == protocol.TypeMatchOver {
		p.match, p.lastSeq = "", 0
	}
	p.waiting = append(p.waiting, h)
	return nil
}

// matchReply matches a reply with its request. After the reply to a request to join, it
// requests the beginning of a match that the arena has already started.
func (p *member) matchReply(h received) error {
	i := slices.IndexFunc(p.unanswered, func(q *request) bool { return q.id == *h.Re })
	if i < 0 {
		return fmt.Errorf("%w: this answers nothing that was asked: %s", checker.ErrContract, h.Raw)
	}
	h.request = p.unanswered[i]
	p.unanswered = slices.Delete(p.unanswered, i, i+1)
	switch {
	case h.request.kind == protocol.TypePing:
		return nil
	case h.request.kind == protocol.TypeMatchSync:
		return p.handleState(h)
	case h.Type == protocol.TypeArenaJoined:
		a, err := decode[protocol.ArenaJoined](h)
		if err != nil {
			return err
		}
		if a.Match != "" && p.match != a.Match {
			p.requestState(a.Match)
		}
	}
	p.waiting = append(p.waiting, h)
	return nil
}

// handleState handles the reply to a resume or a match.sync. If the server could not give the
// state, the client asks another server.
func (p *member) handleState(h received) error {
	if h.Type == protocol.TypeError {
		e, err := decode[protocol.Error](h)
		switch {
		case err != nil:
			return err
		case e.Code == protocol.CodeUnavailable, e.Code == protocol.CodeOverloaded:
			p.leaveAt = time.Now().Add(time.Duration(e.RetryAfterMS) * time.Millisecond)
			return nil
		}
		return fmt.Errorf("%w: %s could not be resumed after %d: %s", checker.ErrContract, p.match, p.lastSeq, h.Raw)
	}
	s, err := decode[protocol.MatchState](h)
	if err != nil {
		return err
	}
	if s.Seq < p.lastSeq {
		return fmt.Errorf("%w: %s stands at %d, and %d was seen: %s", checker.ErrContract, p.match, s.Seq, p.lastSeq, h.Raw)
	}
	p.stateRequest = 0
	p.group.Stats.Count("match resumed", 1)
	p.group.Stats.Count("pushes missed", s.Seq-p.lastSeq)
	p.waiting = append(p.waiting, h)
	return nil
}

// decode decodes the data of a frame.
func decode[T any](h received) (v T, err error) {
	err = json.Unmarshal(h.Data, &v)
	return v, err
}
