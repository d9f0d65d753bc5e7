package players

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// next waits for the next frame, and returns an empty one at the time until. It also
// returns the welcome of every new connection, but no pongs. Numbered pushes come once
// each and in order, over any number of connections. It fails if a server broke the contract, or
// if no server could be reached.
func (p *member) next(ctx context.Context, until time.Time) received {
	for {
		if p.connection == nil {
			return p.connect(ctx)
		}
		now := time.Now()
		if !now.Before(until) {
			return received{}
		}
		if p.leaveSilentServer(now) {
			continue
		}
		if h := p.readFrame(ctx, until); h.Type != "" {
			return h
		}
	}
}

// connect connects, and returns the welcome.
func (p *member) connect(ctx context.Context) received {
	for giveUpAt := time.Now().Add(p.group.ConnectTimeout); ; {
		p.server = p.group.server(p.dice, p.server)
		player, err := p.dial(ctx)
		if err == nil {
			p.startConnection(player)
			return received{Frame: checker.Frame{Type: protocol.TypeWelcome, ReceivedAt: p.lastFrameAt}}
		}
		p.waitToReconnect(ctx, err)
		testenv.FailIf(time.Now().After(giveUpAt), "players: no server for %s: %w", p.group.ConnectTimeout, err)
	}
}

func (p *member) dial(ctx context.Context) (*Player, error) {
	ctx, cancel := context.WithTimeout(ctx, p.group.ReplyTimeout)
	defer cancel()
	var resume *protocol.Resume
	if match, seq := p.view.Position(); match != "" {
		resume = &protocol.Resume{Match: match, Seq: seq}
	}
	dialledAt := time.Now()
	player, err := p.dialer.Connect(ctx, p.server, p.Guest, resume)
	if p.refusal = err; err != nil {
		p.group.Stats.Count("connect "+outcome(err), 1)
		return nil, err
	}
	p.group.Stats.Add(Connecting, time.Since(dialledAt))
	if !p.isConnected {
		p.isConnected = true
		p.group.Connected.Add(1)
	}
	return player, nil
}

// waitToReconnect waits as long as the contract requires after the loss of a connection. It
// fails if the client must not reconnect.
func (p *member) waitToReconnect(ctx context.Context, lost error) {
	after, ok := ReconnectAfter(lost)
	checker.BreachIf(!ok, "the connection was closed for good: %w", lost)
	testenv.MustDo(testenv.Pause(ctx, after))
}

// helloID is the id of the request that Connect makes.
const helloID = 1

// startConnection continues over a new connection. It continues the resumed match, or the match
// that the welcome names. It sends all unanswered requests again.
func (p *member) startConnection(player *Player) {
	p.dropConnection() // the replaced one
	p.connection, p.clockLeadMS = &frameReader{Player: player, frames: make(chan checker.Frame, p.dialer.Buffer/32)}, player.ClockLeadMS
	go p.connection.read() // the method close waits for it
	p.lastFrameAt, p.leaveAt = time.Now(), time.Time{}
	p.stateOf, _ = p.view.Position()
	p.unanswered = slices.DeleteFunc(p.unanswered, func(q *request) bool {
		return q.kind == protocol.TypePing || q.kind == protocol.TypeMatchSync
	})
	again := p.unanswered
	switch playing := player.Welcome.Playing; {
	case p.stateOf != "":
		p.unanswered = append(p.unanswered, &request{kind: protocol.TypeMatchSync, id: helloID, sentAt: time.Now(), attempts: 1})
	case playing != nil && playing.Seq > 0:
		p.requestState(playing.Match)
	}
	for _, q := range again {
		if q.attempts > 0 {
			p.group.Stats.Count("request sent again", 1)
		}
		p.send(q)
	}
}

// readFrame waits for a frame until the given time, or for a short time. It returns an empty
// one if none came, or if the connection ended.
func (p *member) readFrame(ctx context.Context, until time.Time) received {
	select {
	case <-ctx.Done():
		testenv.MustDo(ctx.Err())
	case <-time.After(min(time.Until(until), p.group.ReplyTimeout/4)):
	case f, open := <-p.connection.frames:
		if open {
			p.lastFrameAt = f.ReceivedAt
			return p.handleFrame(f)
		}
		lost := p.connection.err
		p.countLoss("connection lost")
		p.lostAt = time.Now()
		p.dropConnection()
		p.waitToReconnect(ctx, lost)
	}
	return received{}
}

func (p *member) countLoss(name string) {
	p.hasLost = true
	p.group.Stats.Count(name, 1)
}

// leaveSilentServer sends a ping after a time of silence. It closes a connection that does
// not answer, or whose server is leaving, and returns whether it did so.
func (p *member) leaveSilentServer(now time.Time) bool {
	timeout := p.group.ReplyTimeout
	switch {
	case !p.leaveAt.IsZero() && now.After(p.leaveAt):
		p.countLoss("connection to a draining node left")
	case slices.ContainsFunc(p.unanswered, func(q *request) bool { return now.Sub(q.sentAt) > timeout }):
		p.countLoss("connection silent")
	default:
		if !p.isSilent && now.Sub(p.lastFrameAt) > timeout && !p.isAwaitingReply(protocol.TypePing) {
			p.ask(protocol.TypePing, protocol.Ping{At: json.RawMessage("0")})
		}
		return false
	}
	p.dropConnection()
	return true
}

// frameReader is a connection with a goroutine that reads its frames.
type frameReader struct {
	*Player
	frames chan checker.Frame // closed when the connection has ended
	err    error              // why the connection ended; valid once frames is closed
}

func (l *frameReader) read() {
	defer close(l.frames)
	for {
		f, err := l.Read(time.Hour)
		if l.err = err; err != nil {
			return
		}
		l.frames <- f
	}
}

// close closes the connection without a close frame, and waits for its reader.
func (l *frameReader) close() {
	_ = l.Close()
	for range l.frames { // nobody needs what has been read
	}
}
