package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"laststand/internal/protocol"
)

// Roamer is a player who continues when a server fails. It detects a connection that
// breaks or falls silent, and connects to another server. It resumes its match after the
// last number that it has seen, and repeats unanswered requests. Callers set the
// exported fields before the first call. A Roamer is not safe for concurrent use.
type Roamer struct {
	Guest
	Servers      func(last string) string // returns the server for the next connection
	ReplyTimeout time.Duration            // for a reply; a Roamer pings after the same time of silence
	GiveUp       time.Duration            // time without a connection after which Next fails
	Reconnects   Reconnects

	Dialer Dialer                              // opens the connections
	Tried  func(took time.Duration, err error) // is called after each attempt to connect; nil: no call
	Clock  func(lead int64)                    // is called with the Lead of each connection; nil: no call

	link    *link
	server  string    // of the newest connection
	since   time.Time // when it was welcomed
	came    time.Time // when the last frame came
	asked   []*Request
	ready   []Received // received and not yet returned
	leaveAt time.Time

	recentEvents []string // the last events, for errors

	match   string // that the player is in, "" for none
	seq     int64  // its last number, 0 before the first
	syncing int64  // id of the request whose reply match.state is missing, 0 for none
}

// Request is a request of a Roamer.
type Request struct {
	Kind string
	Data any
	Sent int // how often it was sent

	id int64
	at time.Time
}

// Received is a frame, and the request that it answers if it is a reply. At is cluster
// time when it came, at the latest (epoch ms). From is the server, and Since is when the
// server welcomed the connection.
type Received struct {
	Frame
	To    *Request
	At    int64
	From  string
	Since time.Time
}

// ErrContract is wrapped by the errors of Next that mean that a server broke the
// contract. Other errors mean that no server could be reached.
var ErrContract = errors.New("against the contract")

// Ask sends a request. Next returns its reply.
func (r *Roamer) Ask(kind string, data any) {
	q := &Request{Kind: kind, Data: data}
	r.asked = append(r.asked, q)
	r.send(q)
}

// IsWaiting says whether a request of one of the kinds has no reply yet.
func (r *Roamer) IsWaiting(kinds ...string) bool {
	return slices.ContainsFunc(r.asked, func(q *Request) bool { return slices.Contains(kinds, q.Kind) })
}

// Move closes the connection. The next one may be to another server.
func (r *Roamer) Move() {
	if r.link != nil {
		r.link.end()
		r.link = nil
	}
}

// Close closes the connection for good.
func (r *Roamer) Close() { r.Move() }

// Next waits for the next frame, and returns an empty one at the instant until. It also
// returns the welcome of every new connection, but no pongs. Numbered pushes come once
// each and in order, over any number of connections. A push out of order is an error
// that wraps ErrContract.
func (r *Roamer) Next(ctx context.Context, until time.Time) (Received, error) {
	for {
		if err := r.connect(ctx); err != nil {
			return Received{}, err
		}
		if len(r.ready) > 0 {
			h := r.ready[0]
			r.ready = r.ready[1:]
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

// readFrame waits for a frame until the given instant, or for a short time.
func (r *Roamer) readFrame(ctx context.Context, until time.Time) error {
	wait := time.NewTimer(min(time.Until(until), r.ReplyTimeout/4))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	case f, open := <-r.link.frames:
		if !open {
			return r.lost(ctx)
		}
		r.came = f.Came
		return r.sortFrame(f)
	}
}

// checkSilence sends a ping after a time of silence. It closes a connection that does
// not answer, or whose server is leaving, and returns whether it did so.
func (r *Roamer) checkSilence(now time.Time) bool {
	switch {
	case !r.leaveAt.IsZero() && now.After(r.leaveAt):
		r.Reconnects.Left++
	case slices.ContainsFunc(r.asked, func(q *Request) bool { return now.Sub(q.at) > r.ReplyTimeout }):
		r.Reconnects.Silent++
	default:
		if now.Sub(r.came) > r.ReplyTimeout && !r.IsWaiting(protocol.TypePing) {
			r.Ask(protocol.TypePing, protocol.Ping{At: json.RawMessage("0")})
		}
		return false
	}
	r.Move()
	return true
}

// sortFrame queues a frame for Next, or handles it in the Roamer.
func (r *Roamer) sortFrame(f Frame) error {
	h := Received{Frame: f, At: f.Came.UnixMilli() + r.link.Lead, From: r.server, Since: r.since}
	r.noteEvent("%s %d", f.Type, f.Seq)
	switch {
	case f.Re != nil:
		return r.reply(h)
	case f.Seq != 0:
		return r.takePush(h)
	case f.Type == protocol.TypeDraining:
		var d protocol.Draining
		if err := json.Unmarshal(f.Data, &d); err != nil {
			return err
		}
		r.leaveAt = f.Came.Add(time.Duration(d.ReconnectAfterMS) * time.Millisecond)
	}
	r.ready = append(r.ready, h)
	return nil
}

// noteEvent adds an event to recentEvents, which holds only the last few.
func (r *Roamer) noteEvent(format string, args ...any) {
	if len(r.recentEvents) == maxRecentEvents {
		r.recentEvents = r.recentEvents[1:]
	}
	r.recentEvents = append(r.recentEvents, fmt.Sprintf(format, args...))
}

const maxRecentEvents = 20

// violation returns an error that wraps ErrContract and ends with the recent events.
func (r *Roamer) violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s (before: %s)", ErrContract, fmt.Sprintf(format, args...), strings.Join(r.recentEvents, ", "))
}

// takePush handles a push of a match. While the Roamer waits for the state, it drops
// live pushes: the server sends them again after the state.
func (r *Roamer) takePush(h Received) error {
	if r.syncing != 0 && h.Match == r.match {
		return nil
	}
	if r.seq == 0 {
		r.match = h.Match
	}
	if h.Match != r.match || h.Seq != r.seq+1 {
		return r.violation("push %d of %s came where %d of %s was due: %s", h.Seq, h.Match, r.seq+1, r.match, h.Raw)
	}
	r.seq++
	if h.Type == protocol.TypeMatchOver {
		r.match, r.seq = "", 0
	}
	r.ready = append(r.ready, h)
	return nil
}
