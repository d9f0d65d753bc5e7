package client

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"laststand/internal/protocol"
)

// helloID is the id of the request that Connect makes.
const helloID = 1

// connect connects if there is no connection.
func (r *Roamer) connect(ctx context.Context) error {
	giveUp := time.Now().Add(r.GiveUp)
	for r.link == nil {
		r.server = r.Servers(r.server)
		p, err := r.dial(ctx)
		if err == nil {
			r.link = newLink(p)
			if r.Clock != nil {
				r.Clock(p.Lead)
			}
			r.enter(p.Welcome)
			return nil
		}
		if err := r.pause(ctx, err); err != nil {
			return err
		}
		if time.Now().After(giveUp) {
			return fmt.Errorf("player: no server for %s: %w", r.GiveUp, err)
		}
	}
	return nil
}

func (r *Roamer) dial(ctx context.Context) (*Player, error) {
	ctx, cancel := context.WithTimeout(ctx, r.ReplyTimeout)
	defer cancel()
	at := time.Now()
	p, err := r.Dialer.Connect(ctx, r.server, r.Guest, r.resumed())
	if r.Tried != nil {
		r.Tried(time.Since(at), err)
	}
	return p, err
}

// resumed returns the match that a hello asks to resume; nil for none.
func (r *Roamer) resumed() *protocol.Resume {
	if r.seq == 0 {
		return nil
	}
	return &protocol.Resume{Match: r.match, Seq: r.seq}
}

// lost handles the end of a connection.
func (r *Roamer) lost(ctx context.Context) error {
	err := r.link.err
	r.Reconnects.Lost++
	r.Move()
	return r.pause(ctx, err)
}

// pause waits as long as the contract requires after the loss of a connection. It
// returns an error if the client must not reconnect.
func (r *Roamer) pause(ctx context.Context, lost error) error {
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

// enter continues over a new connection. It continues the resumed match, or the match
// that the welcome names. It sends all unanswered requests again.
func (r *Roamer) enter(w protocol.Welcome) {
	r.Reconnects.Connections++
	r.noteEvent("connected to %s after %d of %q, playing %+v", r.server, r.seq, r.match, w.Playing)
	r.since = time.Now()
	r.came, r.leaveAt, r.syncing = r.since, time.Time{}, 0
	r.asked = slices.DeleteFunc(r.asked, func(q *Request) bool {
		return q.Kind == protocol.TypePing || q.Kind == protocol.TypeMatchSync
	})
	again := r.asked
	switch {
	case r.resumed() != nil:
		r.syncing = helloID
		r.asked = append(r.asked, &Request{Kind: protocol.TypeMatchSync, id: helloID, at: time.Now(), Sent: 1})
	case w.Playing != nil && w.Playing.Seq > 0:
		r.sync(w.Playing.Match)
	}
	for _, q := range again {
		if q.Sent > 0 {
			r.Reconnects.Again++
		}
		r.send(q)
	}
	data, _ := json.Marshal(w) // it came from JSON
	r.ready = append(r.ready, Received{Frame: Frame{Type: protocol.TypeWelcome, Data: data, Came: r.came}, At: w.ServerAt})
}

// sync requests a match from its first number on.
func (r *Roamer) sync(match string) {
	r.match = match
	r.Ask(protocol.TypeMatchSync, protocol.Resume{Match: match})
	r.syncing = r.asked[len(r.asked)-1].id
}

// send writes a request. If that fails, the connection is about to end, and the next one
// sends the request again.
func (r *Roamer) send(q *Request) {
	if r.link == nil {
		return
	}
	id, err := r.link.Send(q.Kind, q.Data)
	if err != nil {
		_ = r.link.Close()
	}
	q.id, q.at = id, time.Now()
	q.Sent++
}

// reply matches a reply with its request.
func (r *Roamer) reply(h Received) error {
	i := slices.IndexFunc(r.asked, func(q *Request) bool { return q.id == *h.Re })
	if i < 0 {
		return r.violation("this answers nothing that was asked: %s", h.Raw)
	}
	h.To = r.asked[i]
	r.asked = slices.Delete(r.asked, i, i+1)
	switch h.To.Kind {
	case protocol.TypePing:
		return nil
	case protocol.TypeMatchSync:
		return r.synced(h)
	}
	if h.Type == protocol.TypeArenaJoined {
		if err := r.joined(h); err != nil {
			return err
		}
	}
	r.ready = append(r.ready, h)
	return nil
}

// joined requests the beginning of a match that its arena has already started.
func (r *Roamer) joined(h Received) error {
	var a protocol.ArenaJoined
	if err := json.Unmarshal(h.Data, &a); err != nil {
		return err
	}
	if a.Match != "" && r.match != a.Match {
		r.sync(a.Match)
	}
	return nil
}

// synced handles the reply to a resume or a match.sync. If the server could not give the
// state, the Roamer asks another server.
func (r *Roamer) synced(h Received) error {
	if h.Type == protocol.TypeError {
		var e protocol.Error
		if err := json.Unmarshal(h.Data, &e); err != nil {
			return err
		}
		if e.Code == protocol.CodeUnavailable || e.Code == protocol.CodeOverloaded {
			r.leaveAt = time.Now().Add(time.Duration(e.RetryAfterMS) * time.Millisecond)
			return nil
		}
		return r.violation("%s could not be resumed after %d: %s", r.match, r.seq, h.Raw)
	}
	var s protocol.MatchState
	if err := json.Unmarshal(h.Data, &s); err != nil {
		return err
	}
	if s.Seq < r.seq {
		return r.violation("%s stands at %d, and %d was seen: %s", r.match, s.Seq, r.seq, h.Raw)
	}
	r.syncing = 0
	r.Reconnects.Resumed++
	r.Reconnects.Filled += s.Seq - r.seq
	r.ready = append(r.ready, h)
	return nil
}
