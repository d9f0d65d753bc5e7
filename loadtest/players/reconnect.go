package players

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// Reconnects counts the reconnects of a ReconnectingPlayer.
type Reconnects struct {
	Connections    int
	Lost           int   // connections that ended by themselves
	Silent         int   // connections that the player closed because of silence
	Replaced       int   // connections that the server closed because the player had a newer one
	Drained        int   // connections that the player left because the server was draining
	Resumed        int   // matches that were resumed
	MissedPushes   int64 // pushes that came after the resume
	ResentRequests int
}

// Add adds the counts of another player.
func (c *Reconnects) Add(other Reconnects) {
	c.Connections += other.Connections
	c.Lost += other.Lost
	c.Silent += other.Silent
	c.Replaced += other.Replaced
	c.Drained += other.Drained
	c.Resumed += other.Resumed
	c.MissedPushes += other.MissedPushes
	c.ResentRequests += other.ResentRequests
}

// helloID is the id of the request that Connect makes.
const helloID = 1

// connect connects if there is no connection.
func (r *ReconnectingPlayer) connect(ctx context.Context) error {
	giveUp := time.Now().Add(r.ConnectTimeout)
	for r.connection == nil {
		r.server = r.NextServer(r.server)
		p, err := r.dial(ctx)
		if err == nil {
			r.connection = newFrameReader(p)
			r.startConnection(p.Welcome)
			return nil
		}
		if err := r.waitToReconnect(ctx, err); err != nil {
			return err
		}
		if time.Now().After(giveUp) {
			return fmt.Errorf("players: no server for %s: %w", r.ConnectTimeout, err)
		}
	}
	return nil
}

func (r *ReconnectingPlayer) dial(ctx context.Context) (*Player, error) {
	ctx, cancel := context.WithTimeout(ctx, r.ReplyTimeout)
	defer cancel()
	at := time.Now()
	p, err := r.Dialer.Connect(ctx, r.server, r.Guest, r.resumeRequest())
	if r.OnConnectAttempt != nil {
		r.OnConnectAttempt(time.Since(at), err)
	}
	return p, err
}

// resumeRequest returns the match that a hello asks to resume; nil for none.
func (r *ReconnectingPlayer) resumeRequest() *protocol.Resume {
	if r.lastSeq == 0 {
		return nil
	}
	return &protocol.Resume{Match: r.match, Seq: r.lastSeq}
}

// handleLostConnection handles the end of a connection.
func (r *ReconnectingPlayer) handleLostConnection(ctx context.Context) error {
	err := r.connection.err
	r.Reconnects.Lost++
	r.LostAt = time.Now()
	r.Disconnect()
	return r.waitToReconnect(ctx, err)
}

// waitToReconnect waits as long as the contract requires after the loss of a connection. It
// returns an error if the client must not reconnect.
func (r *ReconnectingPlayer) waitToReconnect(ctx context.Context, lost error) error {
	if CloseCode(lost) == protocol.CloseReplaced {
		r.Reconnects.Replaced++
	}
	after, ok := ReconnectAfter(lost)
	if !ok {
		return r.violation("the connection was closed for good: %v", lost)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(after):
		return nil
	}
}

// startConnection continues over a new connection. It continues the resumed match, or the match
// that the welcome names. It sends all unanswered requests again.
func (r *ReconnectingPlayer) startConnection(w protocol.Welcome) {
	r.Reconnects.Connections++
	r.noteEvent("connected to %s after %d of %q, playing %+v", r.server, r.lastSeq, r.match, w.Playing)
	r.lastFrameAt, r.leaveAt, r.stateRequest = time.Now(), time.Time{}, 0
	r.unanswered = slices.DeleteFunc(r.unanswered, func(q *Request) bool {
		return q.Kind == protocol.TypePing || q.Kind == protocol.TypeMatchSync
	})
	again := r.unanswered
	switch {
	case r.resumeRequest() != nil:
		r.stateRequest = helloID
		r.unanswered = append(r.unanswered, &Request{Kind: protocol.TypeMatchSync, id: helloID, sentAt: time.Now(), Attempts: 1})
	case w.Playing != nil && w.Playing.Seq > 0:
		r.requestState(w.Playing.Match)
	}
	for _, q := range again {
		if q.Attempts > 0 {
			r.Reconnects.ResentRequests++
		}
		r.send(q)
	}
	data, _ := json.Marshal(w) // it came from JSON
	r.received = append(r.received, Received{Frame: checker.Frame{Type: protocol.TypeWelcome, Data: data, ReceivedAt: r.lastFrameAt}, ClusterMS: w.ServerAt})
}

// requestState requests a match from its first number on.
func (r *ReconnectingPlayer) requestState(match string) {
	r.match = match
	r.Ask(protocol.TypeMatchSync, protocol.Resume{Match: match})
	r.stateRequest = r.unanswered[len(r.unanswered)-1].id
}

// send writes a request. If that fails, the connection is about to end, and the next one
// sends the request again.
func (r *ReconnectingPlayer) send(q *Request) {
	if r.connection == nil {
		return
	}
	id, err := r.connection.Send(q.Kind, q.Data)
	if err != nil {
		_ = r.connection.Close()
	}
	q.id, q.sentAt = id, time.Now()
	q.Attempts++
}

// handleReply matches a reply with its request.
func (r *ReconnectingPlayer) handleReply(h Received) error {
	i := slices.IndexFunc(r.unanswered, func(q *Request) bool { return q.id == *h.Re })
	if i < 0 {
		return r.violation("this answers nothing that was asked: %s", h.Raw)
	}
	h.Request = r.unanswered[i]
	r.unanswered = slices.Delete(r.unanswered, i, i+1)
	switch h.Request.Kind {
	case protocol.TypePing:
		return nil
	case protocol.TypeMatchSync:
		return r.handleState(h)
	}
	if h.Type == protocol.TypeArenaJoined {
		if err := r.handleJoined(h); err != nil {
			return err
		}
	}
	r.received = append(r.received, h)
	return nil
}

// handleJoined requests the beginning of a match that its arena has already started.
func (r *ReconnectingPlayer) handleJoined(h Received) error {
	var a protocol.ArenaJoined
	if err := json.Unmarshal(h.Data, &a); err != nil {
		return err
	}
	if a.Match != "" && r.match != a.Match {
		r.requestState(a.Match)
	}
	return nil
}

// handleState handles the reply to a resume or a match.sync. If the server could not give the
// state, the player asks another server.
func (r *ReconnectingPlayer) handleState(h Received) error {
	if h.Type == protocol.TypeError {
		var e protocol.Error
		if err := json.Unmarshal(h.Data, &e); err != nil {
			return err
		}
		if e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded {
			r.leaveAt = time.Now().Add(time.Duration(e.RetryAfterMS) * time.Millisecond)
			return nil
		}
		return r.violation("%s could not be resumed after %d: %s", r.match, r.lastSeq, h.Raw)
	}
	var s protocol.MatchState
	if err := json.Unmarshal(h.Data, &s); err != nil {
		return err
	}
	if s.Seq < r.lastSeq {
		return r.violation("%s stands at %d, and %d was seen: %s", r.match, s.Seq, r.lastSeq, h.Raw)
	}
	r.stateRequest = 0
	r.Reconnects.Resumed++
	r.Reconnects.MissedPushes += s.Seq - r.lastSeq
	r.received = append(r.received, h)
	return nil
}
