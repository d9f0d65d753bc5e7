package players

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/client"
)

// AddIdle starts n sessions that do nothing.
func (g *Group) AddIdle(n int) {
	for range n {
		g.tasks.Go(func() { g.keepSession(false) })
	}
}

// AddWatchers starts n sessions that watch a leaderboard, and that send pings if the
// group has a PingInterval.
func (g *Group) AddWatchers(n int) {
	for range n {
		g.tasks.Go(func() { g.keepSession(true) })
	}
}

// keepSession keeps an idle session or a watcher. It reconnects when the connection is
// lost. To save memory, it consists of little more than the connection.
func (g *Group) keepSession(isWatcher bool) {
	if !g.awaitConnect() {
		return
	}
	n := g.number()
	dice := g.newDice(n)
	s := &session{group: g, dialer: client.Dialer{LocalDialer: g.dialer(n), Buffer: 512}, isWatcher: isWatcher}
	var err error
	s.guest, err = g.guest(g.closing, "player", fmt.Sprintf("session_%d", n), dice)
	if err != nil {
		if g.closing.Err() == nil {
			g.Checker.Violations.Add("no guest could be made: %v", err)
		}
		return
	}
	for failures := 0; ; failures++ {
		connectedAt := time.Now()
		s.server = g.server(dice, s.server)
		err := s.connectAndRead()
		if time.Since(connectedAt) > time.Minute { // the connection had lasted
			failures = 0
		}
		after, ok := client.ReconnectAfter(err)
		if g.closing.Err() != nil {
			return
		}
		if !ok || g.Strict {
			g.Checker.Violations.Add("%s: the connection was closed: %v", s.guest.ID, err)
			return
		}
		if !g.pause(after * time.Duration(min(1+failures, maxBackoff))) {
			return
		}
	}
}

// session is an idle session or a watcher.
type session struct {
	group     *Group
	guest     client.Guest
	dialer    client.Dialer
	server    string // of the newest connection
	isWatcher bool
}

// connectAndRead reads one connection until it ends, and returns the reason.
func (s *session) connectAndRead() error {
	g := s.group
	ctx, cancel := context.WithTimeout(g.closing, g.ReplyTimeout)
	dialledAt := time.Now()
	p, err := s.dialer.Connect(ctx, s.server, s.guest, nil)
	cancel()
	g.countConnect(time.Since(dialledAt), err)
	if err != nil {
		return err
	}
	g.Connected.Add(1)
	defer g.Connected.Add(-1)
	defer context.AfterFunc(g.closing, func() { _ = p.Close() })()
	defer p.Close()
	if s.isWatcher {
		_, err = p.Send(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"})
	}
	for err == nil {
		if s.isWatcher && g.PingInterval > 0 {
			err = s.ping(p)
			g.pause(g.PingInterval)
			continue
		}
		_, err = s.read(p, time.Hour)
	}
	if g.closing.Err() == nil {
		g.Stats.Count("session "+outcome(err), 1)
	}
	return err
}

// read reads a frame, and counts the pushes of leaderboards.
func (s *session) read(p *client.Player, timeout time.Duration) (raw []byte, err error) {
	raw, err = p.ReadRaw(timeout)
	switch {
	case err != nil:
	case bytes.HasPrefix(raw, []byte(`{"type":"`+protocol.TypeBoard+`"`)):
		s.group.Stats.Count("boards pushed", 1)
	case bytes.Contains(raw, []byte(`"type":"`+protocol.TypeError+`"`)) && s.group.Strict:
		err = fmt.Errorf("%w: refused: %s", client.ErrContract, raw)
	}
	return raw, err
}

// ping sends a ping and waits for its pong.
func (s *session) ping(p *client.Player) error {
	sentAt := time.Now()
	if _, err := p.Send(protocol.TypePing, protocol.Ping{At: json.RawMessage("1")}); err != nil {
		return err
	}
	for {
		raw, err := s.read(p, s.group.ReplyTimeout)
		if err != nil {
			return err
		}
		if bytes.Contains(raw, []byte(`"type":"`+protocol.TypePong+`"`)) {
			s.group.Stats.Add(Pong, time.Since(sentAt))
			return nil
		}
	}
}
