package players

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// member is a player or a host of a group, which continues when a server fails. It detects a
// connection that breaks or falls silent, and connects to another server. It resumes its
// match after the last push that it has received, and sends unanswered requests again. It is
// not safe for concurrent use.
type member struct {
	Guest
	group    *Group
	dice     *rand.Rand
	dialer   Dialer
	view     *checker.View
	isSilent bool      // sends no request, not even a ping
	isLost   bool      // saw a violation, or could not connect, and plays no more
	overAt   time.Time // when the last match ended; zero: it is settled

	isConnected bool      // has connected, and has not disconnected for good
	refusal     error     // of the last attempt to connect; nil: it succeeded
	hasLost     bool      // has lost a connection, or left one without a reply or that drains
	lostAt      time.Time // when a connection last ended by itself; zero: the match is resumed

	connection  *frameReader // nil: none
	replaced    *frameReader // to close after the next connect; nil: none
	server      string       // of the newest connection
	clockLeadMS int64        // see Player
	lastFrameAt time.Time    // when the last frame came
	unanswered  []*request
	leaveAt     time.Time // when to leave a server that drains or cannot give the state; zero: never
	stateOf     string    // the match whose match.state was requested and is missing; "": none
}

// request is a request of a client.
type request struct {
	kind     string
	data     any
	attempts int // how often it was sent

	id     int64
	sentAt time.Time
}

// newMember makes a player or a host. It connects when it has something to do.
func (g *Group) newMember(ctx context.Context, role string) (p *member, err error) {
	n, dice := g.newClient()
	p = &member{group: g, dice: dice, dialer: Dialer{LocalDialer: g.Dialer(n), Buffer: 2048}, view: g.Checker.Player("")}
	p.Guest, err = g.guest(ctx, role, fmt.Sprintf("%s%s_%d", g.IDPrefix, role, n), dice)
	if role == "player" {
		p.view = g.Checker.Player(p.ID)
		g.mu.Lock()
		g.tokens[p.ID] = p.Token
		g.mu.Unlock()
	}
	return p, err
}

// guest returns a player with a token that this program mints, or with one from the
// server. It tries again while the server refuses for now. An error says that the
// refusal is final or that ctx has ended.
func (g *Group) guest(ctx context.Context, role, id string, dice *rand.Rand) (guest Guest, err error) {
	if g.Token != nil {
		guest.ID = id
		if guest.Token, err = g.Token(role, id); guest.Token != "" || err != nil {
			return guest, err
		}
	}
	for ctx.Err() == nil {
		if guest, err = CreateGuest(ctx, g.server(dice, ""), "demo", ""); err == nil {
			return guest, nil
		}
		g.Stats.Count("guest "+outcome(err), 1)
		if !isTemporary(err) {
			return guest, fmt.Errorf("no guest could be made: %w", err)
		}
		g.pause(time.Second)
	}
	return guest, ctx.Err()
}

// chance returns true with the given probability.
func (p *member) chance(share float64) bool { return p.dice.Float64() < share }

// reportEnd records why a member has ended. A nil error and the end of the group are no
// violations.
func (p *member) reportEnd(err error) {
	if err == nil || p.group.life.Err() != nil || errors.Is(err, context.Canceled) {
		return
	}
	p.isLost = true
	p.group.Checker.Violations.Add("%s %s: %v", time.Now().Format("15:04:05.000"), p.ID, err)
}

// ask sends a request. next returns its reply.
func (p *member) ask(kind string, data any) {
	q := &request{kind: kind, data: data}
	p.unanswered = append(p.unanswered, q)
	p.send(q)
}

// isAwaitingReply reports whether a request of one of the kinds has no reply yet.
func (p *member) isAwaitingReply(kinds ...string) bool {
	return slices.ContainsFunc(p.unanswered, func(q *request) bool { return slices.Contains(kinds, q.kind) })
}

// requestState requests a match from its first number on.
func (p *member) requestState(match string) {
	p.stateOf = match
	p.ask(protocol.TypeMatchSync, protocol.Resume{Match: match})
}

// send writes a request. If that fails, the connection is about to end, and the next one
// sends the request again.
func (p *member) send(q *request) {
	if p.connection == nil {
		return
	}
	id, err := p.connection.Send(q.kind, q.data)
	if err != nil {
		_ = p.connection.Close()
	}
	q.id, q.sentAt = id, time.Now()
	q.attempts++
}

// dropConnection closes the connection. The next one may be to another server.
func (p *member) dropConnection() {
	for _, c := range []*frameReader{p.connection, p.replaced} {
		if c != nil {
			c.close()
		}
	}
	p.connection, p.replaced = nil, nil
}

// replaceConnection opens another connection, and only then closes the present one.
func (p *member) replaceConnection() {
	if p.connection != nil {
		p.connection, p.replaced = nil, p.connection
	}
}

// disconnect closes the connection for good.
func (p *member) disconnect() {
	p.dropConnection()
	if p.isConnected {
		p.group.Connected.Add(-1)
	}
	p.isConnected = false
}

// checkConnection fails if a strict member has lost a connection.
func (p *member) checkConnection() {
	checker.BreachIf(p.group.Strict && p.refusal != nil, "connect: %w", p.refusal)
	checker.BreachIf(p.group.Strict && p.hasLost, "the connection was closed, or a reply was missing for %v", p.group.ReplyTimeout)
}

// received is a frame that next returns.
type received struct {
	checker.Frame
	request *request // that the frame answers; nil: it is a push
}

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
	checker.BreachIf(i < 0, "this answers nothing that was asked: %s", h.Raw)
	h.request = p.unanswered[i]
	p.unanswered = slices.Delete(p.unanswered, i, i+1)
	switch {
	case h.request.kind == protocol.TypePing:
		p.group.Stats.Add(Pong, h.ReceivedAt.Sub(h.request.sentAt))
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
		isForNow := e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded
		checker.BreachIf(!isForNow, "%s could not be resumed after %d: %s", p.stateOf, seq, h.Raw)
		p.leaveAt = time.Now().Add(time.Duration(e.RetryAfterMS) * time.Millisecond)
		return received{}
	}
	s := decode[protocol.MatchState](h)
	checker.BreachIf(s.Seq < seq, "%s stands at %d, and %d was seen: %s", match, s.Seq, seq, h.Raw)
	p.stateOf = ""
	p.group.Stats.Count("match resumed", 1)
	p.group.Stats.Count("pushes missed", s.Seq-seq)
	return h
}
