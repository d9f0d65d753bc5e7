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
func (r *reconnecting) sortFrame(f checker.Frame) error {
	h := received{Frame: f, clusterMS: f.ReceivedAt.UnixMilli() + r.connection.ClockLeadMS}
	switch {
	case f.Re != nil:
		return r.matchReply(h)
	case f.Seq != 0:
		return r.sortPush(h)
	case f.Type == protocol.TypeDraining:
		var d protocol.Draining
		if err := json.Unmarshal(f.Data, &d); err != nil {
			return err
		}
		r.leaveAt = f.ReceivedAt.Add(time.Duration(d.ReconnectAfterMS) * time.Millisecond)
	}
	r.waiting = append(r.waiting, h)
	return nil
}

// sortPush queues a push of a match. While the client waits for the state, it drops
// live pushes. The server sends them again after the state.
func (r *reconnecting) sortPush(h received) error {
	if r.stateRequest != 0 && h.Match == r.match {
		return nil
	}
	if r.lastSeq == 0 {
		r.match = h.Match
	}
	if h.Match != r.match || h.Seq != r.lastSeq+1 {
		return fmt.Errorf("%w: push %d of %s came where %d of %s was due: %s", checker.ErrContract, h.Seq, h.Match, r.lastSeq+1, r.match, h.Raw)
	}
	r.lastSeq++
	if h.Type == protocol.TypeMatchOver {
		r.match, r.lastSeq = "", 0
	}
	r.waiting = append(r.waiting, h)
	return nil
}

// matchReply matches a reply with its request. After the reply to a request to join, it
// requests the beginning of a match that the arena has already started.
func (r *reconnecting) matchReply(h received) error {
	i := slices.IndexFunc(r.unanswered, func(q *request) bool { return q.id == *h.Re })
	if i < 0 {
		return fmt.Errorf("%w: this answers nothing that was asked: %s", checker.ErrContract, h.Raw)
	}
	h.request = r.unanswered[i]
	r.unanswered = slices.Delete(r.unanswered, i, i+1)
	switch {
	case h.request.kind == protocol.TypePing:
		return nil
	case h.request.kind == protocol.TypeMatchSync:
		return r.handleState(h)
	case h.Type == protocol.TypeArenaJoined:
		var a protocol.ArenaJoined
		if err := json.Unmarshal(h.Data, &a); err != nil {
			return err
		}
		if a.Match != "" && r.match != a.Match {
			r.requestState(a.Match)
		}
	}
	r.waiting = append(r.waiting, h)
	return nil
}

// handleState handles the reply to a resume or a match.sync. If the server could not give the
// state, the client asks another server.
func (r *reconnecting) handleState(h received) error {
	if h.Type == protocol.TypeError {
		var e protocol.Error
		if err := json.Unmarshal(h.Data, &e); err != nil {
			return err
		}
		if e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded {
			r.leaveAt = time.Now().Add(time.Duration(e.RetryAfterMS) * time.Millisecond)
			return nil
		}
		return fmt.Errorf("%w: %s could not be resumed after %d: %s", checker.ErrContract, r.match, r.lastSeq, h.Raw)
	}
	var s protocol.MatchState
	if err := json.Unmarshal(h.Data, &s); err != nil {
		return err
	}
	if s.Seq < r.lastSeq {
		return fmt.Errorf("%w: %s stands at %d, and %d was seen: %s", checker.ErrContract, r.match, s.Seq, r.lastSeq, h.Raw)
	}
	r.stateRequest = 0
	r.group.Stats.Count("match resumed", 1)
	r.group.Stats.Count("pushes missed", s.Seq-r.lastSeq)
	r.waiting = append(r.waiting, h)
	return nil
}
