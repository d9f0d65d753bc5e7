package player

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

// Roamer is a player who goes on whatever becomes of a server: it notices a
// connection that breaks or falls silent, connects to another server, resumes
// its match after the last number that it has seen, and sends again what was
// not answered. The fields that are set are set before the first call. It is
// not safe for concurrent use.
type Roamer struct {
	Guest
	Servers      func(last string) string // draws a server for the next connection
	ReplyTimeout time.Duration            // for a reply; as much silence is asked about by a ping
	GiveUp       time.Duration            // without any connection until Next fails
	Reconnects   Reconnects

	Dialer Dialer                              // by which it connects
	Tried  func(took time.Duration, err error) // is told of each try to connect; nil: nobody
	Clock  func(lead int64)                    // is told the Lead of each connection; nil: nobody

	link    *link
	server  string    // of the newest connection
	since   time.Time // its welcome
	came    time.Time // the last frame
	asked   []*Request
	ready   []Received // heard and not yet given
	leaveAt time.Time

	recentEvents []string // what happened last, for errors

	match   string // that is played, "" for none
	seq     int64  // its last number, 0 before the first
	syncing int64  // the request whose reply match.state is still to come, 0 for none
}

// Request is what a Roamer has asked for.
type Request struct {
	Kind string
	Data any
	Sent int // how often

	id int64
	at time.Time
}

// Received is a frame, what it answers if it is a reply, and cluster time when it
// came, at the latest (epoch ms). It came From a server by a connection that has
// been there Since its welcome.
type Received struct {
	Frame
	To    *Request
	At    int64
	From  string
	Since time.Time
}

// ErrContract is wrapped by the errors of Next that say that a server broke the
// contract, and not that none could be reached.
var ErrContract = errors.New("against the contract")

// Ask sends a request; its reply comes out of Next.
func (r *Roamer) Ask(kind string, data any) {
	q := &Request{Kind: kind, Data: data}
	r.asked = append(r.asked, q)
	r.send(q)
}

// IsWaiting says whether a request of one of the kinds is not answered yet.
func (r *Roamer) IsWaiting(kinds ...string) bool {
	return slices.ContainsFunc(r.asked, func(q *Request) bool { return slices.Contains(kinds, q.Kind) })
}

// Move gives the connection up; the next one is to a server drawn anew.
func (r *Roamer) Move() {
	if r.link != nil {
		r.link.end()
		r.link = nil
	}
}

// Close gives the connection up for good.
func (r *Roamer) Close() { r.Move() }

// Next waits for the next frame, and gives none at the instant until. The
// welcome of every new connection comes out too, pongs do not. Numbered pushes
// come once each and in order, whatever the connections: one that does not is
// an error that wraps ErrFalse.
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

// readFrame waits for a frame, for the instant, or for a while.
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

// checkSilence asks about silence, and gives up a connection that does not answer or
// whose server is leaving; it says whether it did so.
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

// sortFrame sorts a frame: to be given out, or for the Roamer itself.
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

// noteEvent keeps what happens on the trail, which is short.
func (r *Roamer) noteEvent(format string, args ...any) {
	if len(r.recentEvents) == maxRecentEvents {
		r.recentEvents = r.recentEvents[1:]
	}
	r.recentEvents = append(r.recentEvents, fmt.Sprintf(format, args...))
}

const maxRecentEvents = 20

// violation is an error that wraps ErrFalse and ends with the trail.
func (r *Roamer) violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s (before: %s)", ErrContract, fmt.Sprintf(format, args...), strings.Join(r.recentEvents, ", "))
}

// takePush takes a push of a match. While its state is to come, live ones are
// left out: they come again after it.
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
