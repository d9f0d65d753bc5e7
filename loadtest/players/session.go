package players

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// session is an idle session or a watcher. To save memory, nothing reads ahead for it.
type session struct {
	*member
	isWatcher bool
	startedAt time.Time // of the first attempt to connect; zero after it has once connected
}

// AddIdle starts n sessions that do nothing.
func (g *Group) AddIdle(n int) { g.addSessions(n, false) }

// AddWatchers starts n sessions that watch a leaderboard, and that send pings if the
// group has a PingInterval.
func (g *Group) AddWatchers(n int) { g.addSessions(n, true) }

func (g *Group) addSessions(n int, areWatchers bool) {
	for range n {
		g.tasks.Go(func() {
			if !g.awaitConnect() {
				return
			}
			p, err := g.newMember(g.closing, "player")
			if err == nil {
				p.dialer.Buffer = 512
				err = (&session{member: p, isWatcher: areWatchers, startedAt: time.Now()}).keep()
			}
			if g.closing.Err() == nil {
				p.reportEnd(err)
			}
		})
	}
}

// keep connects, and reconnects when the connection is lost, until the group closes. It returns the
// end of a connection after which it must not reconnect.
func (s *session) keep() error {
	for failures := 0; ; failures++ {
		connectedAt := time.Now()
		err := s.connectAndRead()
		if time.Since(connectedAt) > time.Minute { // the connection had lasted
			failures = 0
		}
		after, ok := ReconnectAfter(err)
		if !ok || s.group.Strict {
			return fmt.Errorf("the connection was closed: %w", err)
		}
		if !s.group.pause(after * time.Duration(min(1+failures, maxBackoff))) {
			return nil
		}
	}
}

// connectAndRead reads one connection until it ends, and returns the reason.
func (s *session) connectAndRead() (err error) {
	g := s.group
	s.server = g.server(s.dice, s.server)
	p, err := s.dial(g.closing)
	if err != nil {
		return err
	}
	if !s.startedAt.IsZero() {
		g.Stats.Add(Served, time.Since(s.startedAt))
		s.startedAt = time.Time{}
	}
	defer func() {
		if g.closing.Err() == nil {
			g.Stats.Count("session "+outcome(err), 1)
		}
	}()
	defer context.AfterFunc(g.closing, func() { _ = p.Close() })()
	defer p.Close()
	defer testenv.Recover(&err)
	if s.isWatcher {
		testenv.Must(p.Send(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}))
	}
	for {
		if s.isWatcher && g.PingInterval > 0 {
			s.ping(p)
			g.pause(g.PingInterval)
			continue
		}
		s.read(p, time.Hour)
	}
}

// read reads a frame, and counts the pushes of leaderboards.
func (s *session) read(p *Player, timeout time.Duration) []byte {
	raw := testenv.Must(p.ReadRaw(timeout))
	switch {
	case bytes.HasPrefix(raw, []byte(`{"type":"`+protocol.TypeBoard+`"`)):
		s.group.Stats.Count("boards pushed", 1)
	case bytes.Contains(raw, []byte(`"type":"`+protocol.TypeError+`"`)) && s.group.Strict:
		checker.BreachIf(true, "refused: %s", raw)
	}
	return raw
}

// ping sends a ping and waits for its pong.
func (s *session) ping(p *Player) {
	sentAt := time.Now()
	testenv.Must(p.Send(protocol.TypePing, protocol.Ping{At: json.RawMessage("1")}))
	for isAnswered := false; !isAnswered; {
		isAnswered = bytes.Contains(s.read(p, s.group.ReplyTimeout), []byte(`"type":"`+protocol.TypePong+`"`))
	}
	s.group.Stats.Add(Pong, time.Since(sentAt))
}
