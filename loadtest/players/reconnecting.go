package players

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// reconnecting is a client of a group that continues when a server fails. It detects a
// connection that breaks or falls silent, and connects to another server. It resumes its
// match after the last push that it has received, and sends unanswered requests again. It is
// not safe for concurrent use.
type reconnecting struct {
	Guest
	group  *Group
	dice   *rand.Rand
	dialer Dialer

	isConnected bool      // has connected, and has not disconnected for good
	refusal     error     // of the last attempt to connect; nil: it succeeded
	hasLost     bool      // has lost a connection, or left one without a reply or that drains
	lostAt      time.Time // when a connection last ended by itself; zero: the match is resumed

	connection  *frameReader // nil: none
	server      string       // of the newest connection
	lastFrameAt time.Time    // when the last frame came
	unanswered  []*request
	waiting     []received // not yet returned by next
	leaveAt     time.Time  // when to leave a server that drains or cannot give the state; zero: never

	match        string // that the player is in; "": none
	lastSeq      int64  // of the last push of the match; 0: none yet
	stateRequest int64  // id of the request whose reply match.state is missing; 0: none
}

// request is a request of a client.
type request struct {
	kind     string
	data     any
	attempts int // how often it was sent

	id     int64
	sentAt time.Time
}

// received is a frame that next returns.
type received struct {
	checker.Frame
	request   *request // that the frame answers; nil: it is a push
	clusterMS int64    // latest possible cluster time of its arrival, epoch ms
}

// ask sends a request. next returns its reply.
func (r *reconnecting) ask(kind string, data any) {
	q := &request{kind: kind, data: data}
	r.unanswered = append(r.unanswered, q)
	r.send(q)
}

// isAwaitingReply reports whether a request of one of the kinds has no reply yet.
func (r *reconnecting) isAwaitingReply(kinds ...string) bool {
	return slices.ContainsFunc(r.unanswered, func(q *request) bool { return slices.Contains(kinds, q.kind) })
}

// requestState requests a match from its first number on.
func (r *reconnecting) requestState(match string) {
	r.match = match
	r.ask(protocol.TypeMatchSync, protocol.Resume{Match: match})
	r.stateRequest = r.unanswered[len(r.unanswered)-1].id
}

// send writes a request. If that fails, the connection is about to end, and the next one
// sends the request again.
func (r *reconnecting) send(q *request) {
	if r.connection == nil {
		return
	}
	id, err := r.connection.Send(q.kind, q.data)
	if err != nil {
		_ = r.connection.Close()
	}
	q.id, q.sentAt = id, time.Now()
	q.attempts++
}

// dropConnection closes the connection. The next one may be to another server.
func (r *reconnecting) dropConnection() {
	if r.connection != nil {
		r.connection.close()
		r.connection = nil
	}
}

// next waits for the next frame, and returns an empty one at the time until. It also
// returns the welcome of every new connection, but no pongs. Numbered pushes come once
// each and in order, over any number of connections. An error that wraps
// checker.ErrContract means that a server broke the contract; others mean that no server
// could be reached.
func (r *reconnecting) next(ctx context.Context, until time.Time) (received, error) {
	for {
		if err := r.connect(ctx); err != nil {
			return received{}, err
		}
		if len(r.waiting) > 0 {
			first := r.waiting[0]
			r.waiting = r.waiting[1:]
			return first, nil
		}
		now := time.Now()
		if !now.Before(until) {
			return received{}, nil
		}
		if r.leaveSilentServer(now) {
			continue
		}
		if err := r.readFrame(ctx, until); err != nil {
			return received{}, err
		}
	}
}

// connect connects if there is no connection.
func (r *reconnecting) connect(ctx context.Context) error {
	giveUpAt := time.Now().Add(r.group.ConnectTimeout)
	for r.connection == nil {
		r.server = r.group.server(r.dice, r.server)
		p, err := r.dial(ctx)
		if err == nil {
			r.startConnection(p)
			return nil
		}
		if err := r.waitToReconnect(ctx, err); err != nil {
			return err
		}
		if time.Now().After(giveUpAt) {
			return fmt.Errorf("players: no server for %s: %w", r.group.ConnectTimeout, err)
		}
	}
	return nil
}

func (r *reconnecting) dial(ctx context.Context) (*Player, error) {
	ctx, cancel := context.WithTimeout(ctx, r.group.ReplyTimeout)
	defer cancel()
	var resume *protocol.Resume
	if r.lastSeq > 0 {
		resume = &protocol.Resume{Match: r.match, Seq: r.lastSeq}
	}
	dialledAt := time.Now()
	p, err := r.dialer.Connect(ctx, r.server, r.Guest, resume)
	r.group.countConnect(time.Since(dialledAt), err)
	r.refusal = err
	if err == nil && !r.isConnected {
		r.isConnected = true
		r.group.Connected.Add(1)
	}
	return p, err
}

// waitToReconnect waits as long as the contract requires after the loss of a connection. It
// returns an error if the client must not reconnect.
func (r *reconnecting) waitToReconnect(ctx context.Context, lost error) error {
	after, ok := ReconnectAfter(lost)
	if !ok {
		return fmt.Errorf("%w: the connection was closed for good: %w", checker.ErrContract, lost)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(after):
		return nil
	}
}

// helloID is the id of the request that Connect makes.
const helloID = 1

// startConnection continues over a new connection. It continues the resumed match, or the match
// that the welcome names. It sends all unanswered requests again.
func (r *reconnecting) startConnection(p *Player) {
	r.connection = newFrameReader(p)
	r.lastFrameAt, r.leaveAt, r.stateRequest = time.Now(), time.Time{}, 0
	r.unanswered = slices.DeleteFunc(r.unanswered, func(q *request) bool {
		return q.kind == protocol.TypePing || q.kind == protocol.TypeMatchSync
	})
	again := r.unanswered
	switch playing := p.Welcome.Playing; {
	case r.lastSeq > 0:
		r.stateRequest = helloID
		r.unanswered = append(r.unanswered, &request{kind: protocol.TypeMatchSync, id: helloID, sentAt: time.Now(), attempts: 1})
	case playing != nil && playing.Seq > 0:
		r.requestState(playing.Match)
	}
	for _, q := range again {
		if q.attempts > 0 {
			r.group.Stats.Count("request sent again", 1)
		}
		r.send(q)
	}
	data, _ := json.Marshal(p.Welcome) // it came from JSON
	welcome := checker.Frame{Type: protocol.TypeWelcome, Data: data, ReceivedAt: r.lastFrameAt}
	r.waiting = append(r.waiting, received{Frame: welcome, clusterMS: p.Welcome.ServerAt})
}

// readFrame waits for a frame until the given time, or for a short time.
func (r *reconnecting) readFrame(ctx context.Context, until time.Time) error {
	wait := time.NewTimer(min(time.Until(until), r.group.ReplyTimeout/4))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-wait.C:
		return nil
	case f, open := <-r.connection.frames:
		if open {
			r.lastFrameAt = f.ReceivedAt
			return r.sortFrame(f)
		}
		lost := r.connection.err
		r.countLoss("connection lost")
		r.lostAt = time.Now()
		r.dropConnection()
		return r.waitToReconnect(ctx, lost)
	}
}

func (r *reconnecting) countLoss(name string) {
	r.hasLost = true
	r.group.Stats.Count(name, 1)
}

// leaveSilentServer sends a ping after a time of silence. It closes a connection that does
// not answer, or whose server is leaving, and returns whether it did so.
func (r *reconnecting) leaveSilentServer(now time.Time) bool {
	timeout := r.group.ReplyTimeout
	switch {
	case !r.leaveAt.IsZero() && now.After(r.leaveAt):
		r.countLoss("connection to a draining node left")
	case slices.ContainsFunc(r.unanswered, func(q *request) bool { return now.Sub(q.sentAt) > timeout }):
		r.countLoss("connection silent")
	default:
		if now.Sub(r.lastFrameAt) > timeout && !r.isAwaitingReply(protocol.TypePing) {
			r.ask(protocol.TypePing, protocol.Ping{At: json.RawMessage("0")})
		}
		return false
	}
	r.dropConnection()
	return true
}

// frameReader is a connection with a goroutine that reads its frames.
type frameReader struct {
	*Player
	frames chan checker.Frame // closed when the connection has ended
	err    error              // why the connection ended; valid once frames is closed
	done   chan struct{}
	reader sync.WaitGroup
}

func newFrameReader(p *Player) *frameReader {
	l := &frameReader{Player: p, frames: make(chan checker.Frame, 64), done: make(chan struct{})}
	l.reader.Go(l.read)
	return l
}

func (l *frameReader) read() {
	defer close(l.frames)
	for {
		f, err := l.Read(time.Hour)
		if err != nil {
			l.err = err
			return
		}
		select {
		case l.frames <- f:
		case <-l.done:
			return
		}
	}
}

// close closes the connection without a close frame, and waits for its reader.
func (l *frameReader) close() {
	close(l.done)
	_ = l.Close()
	l.reader.Wait()
}
