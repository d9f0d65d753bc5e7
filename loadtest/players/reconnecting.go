package players

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// ReconnectingPlayer is a player who continues when a server fails. It detects a connection
// that breaks or falls silent, and connects to another server. It resumes its match after the
// last push that it has received, and sends unanswered requests again. Callers set the
// exported fields before the first call. It is not safe for concurrent use.
type ReconnectingPlayer struct {
	Guest
	NextServer     func(last string) string // returns the server for the next connection
	ReplyTimeout   time.Duration            // for a reply; after the same time of silence the player sends a ping
	ConnectTimeout time.Duration            // time without a connection after which Next fails
	Reconnects     Reconnects
	LostAt         time.Time // when a connection last ended by itself

	Dialer           Dialer                              // opens the connections
	OnConnectAttempt func(took time.Duration, err error) // is called after each attempt to connect; nil: no call

	connection  *frameReader
	server      string    // of the newest connection
	lastFrameAt time.Time // when the last frame came
	unanswered  []*Request
	received    []Received // not yet returned by Next
	leaveAt     time.Time  // when to leave a server that drains or cannot give the state; zero: never

	recentEvents []string // the last events, for errors

	match        string // that the player is in; "": none
	lastSeq      int64  // of the last push of the match; 0: none yet
	stateRequest int64  // id of the request whose reply match.state is missing; 0: none
}

// Request is a request of a ReconnectingPlayer.
type Request struct {
	Kind     string
	Data     any
	Attempts int // how often it was sent

	id     int64
	sentAt time.Time
}

// Received is a frame that Next returns.
type Received struct {
	checker.Frame
	Request   *Request // that the frame answers; nil: it is a push
	ClusterMS int64    // latest possible cluster time of its arrival, epoch ms
}

// Ask sends a request. Next returns its reply.
func (r *ReconnectingPlayer) Ask(kind string, data any) {
	q := &Request{Kind: kind, Data: data}
	r.unanswered = append(r.unanswered, q)
	r.send(q)
}

// IsAwaitingReply says whether a request of one of the kinds has no reply yet.
func (r *ReconnectingPlayer) IsAwaitingReply(kinds ...string) bool {
	return slices.ContainsFunc(r.unanswered, func(q *Request) bool { return slices.Contains(kinds, q.Kind) })
}

// Disconnect closes the connection. The next one may be to another server.
func (r *ReconnectingPlayer) Disconnect() {
	if r.connection != nil {
		r.connection.close()
		r.connection = nil
	}
}

// Next waits for the next frame, and returns an empty one at the time until. It also
// returns the welcome of every new connection, but no pongs. Numbered pushes come once
// each and in order, over any number of connections. A push out of order is an error
// that wraps checker.ErrContract.
func (r *ReconnectingPlayer) Next(ctx context.Context, until time.Time) (Received, error) {
	for {
		if err := r.connect(ctx); err != nil {
			return Received{}, err
		}
		if len(r.received) > 0 {
			h := r.received[0]
			r.received = r.received[1:]
			return h, nil
		}
		now := time.Now()
		if !now.Before(until) {
			return Received{}, nil
		}
		if r.checkSilence(now) {
			continue
		}
		if err := r.readFrame(ctx, until); err != nil {
			return Received{}, err
		}
	}
}

// readFrame waits for a frame until the given time, or for a short time.
func (r *ReconnectingPlayer) readFrame(ctx context.Context, until time.Time) error {
	wait := time.NewTimer(min(time.Until(until), r.ReplyTimeout/4))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	case f, open := <-r.connection.frames:
		if !open {
			return r.handleLostConnection(ctx)
		}
		r.lastFrameAt = f.ReceivedAt
		return r.sortFrame(f)
	}
}

// checkSilence sends a ping after a time of silence. It closes a connection that does
// not answer, or whose server is leaving, and returns whether it did so.
func (r *ReconnectingPlayer) checkSilence(now time.Time) bool {
	switch {
	case !r.leaveAt.IsZero() && now.After(r.leaveAt):
		r.Reconnects.Drained++
	case slices.ContainsFunc(r.unanswered, func(q *Request) bool { return now.Sub(q.sentAt) > r.ReplyTimeout }):
		r.Reconnects.Silent++
	default:
		if now.Sub(r.lastFrameAt) > r.ReplyTimeout && !r.IsAwaitingReply(protocol.TypePing) {
			r.Ask(protocol.TypePing, protocol.Ping{At: json.RawMessage("0")})
		}
		return false
	}
	r.Disconnect()
	return true
}

// sortFrame queues a frame for Next, or handles it in the player.
func (r *ReconnectingPlayer) sortFrame(f checker.Frame) error {
	h := Received{Frame: f, ClusterMS: f.ReceivedAt.UnixMilli() + r.connection.ClockLeadMS}
	r.noteEvent("%s %d", f.Type, f.Seq)
	switch {
	case f.Re != nil:
		return r.handleReply(h)
	case f.Seq != 0:
		return r.handlePush(h)
	case f.Type == protocol.TypeDraining:
		var d protocol.Draining
		if err := json.Unmarshal(f.Data, &d); err != nil {
			return err
		}
		r.leaveAt = f.ReceivedAt.Add(time.Duration(d.ReconnectAfterMS) * time.Millisecond)
	}
	r.received = append(r.received, h)
	return nil
}

// noteEvent adds an event to recentEvents, which holds only the last few.
func (r *ReconnectingPlayer) noteEvent(format string, args ...any) {
	if len(r.recentEvents) == maxRecentEvents {
		r.recentEvents = r.recentEvents[1:]
	}
	r.recentEvents = append(r.recentEvents, fmt.Sprintf(format, args...))
}

const maxRecentEvents = 20

// violation returns an error that wraps checker.ErrContract and ends with the recent events.
func (r *ReconnectingPlayer) violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s (before: %s)", checker.ErrContract, fmt.Sprintf(format, args...), strings.Join(r.recentEvents, ", "))
}

// handlePush handles a push of a match. While the player waits for the state, it drops
// live pushes. The server sends them again after the state.
func (r *ReconnectingPlayer) handlePush(h Received) error {
	if r.stateRequest != 0 && h.Match == r.match {
		return nil
	}
	if r.lastSeq == 0 {
		r.match = h.Match
	}
	if h.Match != r.match || h.Seq != r.lastSeq+1 {
		return r.violation("push %d of %s came where %d of %s was due: %s", h.Seq, h.Match, r.lastSeq+1, r.match, h.Raw)
	}
	r.lastSeq++
	if h.Type == protocol.TypeMatchOver {
		r.match, r.lastSeq = "", 0
	}
	r.received = append(r.received, h)
	return nil
}
