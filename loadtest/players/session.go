package players

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// session is an idle session or a watcher. To save memory, it consists of little more than
// the connection.
type session struct {
	*Group
	guest     Guest
	dialer    Dialer
	server    string // of the newest connection
	isWatcher bool
	startedAt time.Time // of the first attempt to connect; zero after it has once connected
}

// AddIdle starts n sessions that do nothing.
func (g *Group) AddIdle(n int) { addSessions(g, n, false) }

// AddWatchers starts n sessions that watch a leaderboard, and that send pings if the
// group has a PingInterval.
func (g *Group) AddWatchers(n int) { addSessions(g, n, true) }

func addSessions(g *Group, n int, areWatchers bool) {
	for range n {
		g.tasks.Go(func() {
			if g.awaitConnect() {
				(&session{Group: g, isWatcher: areWatchers}).keep()
			}
		})
	}
}

// keep connects, and reconnects when the connection is lost, until the group closes.
func (s *session) keep() {
	n := s.number()
	dice := s.newDice(n)
	s.dialer = Dialer{LocalDialer: s.Group.dialer(n), Buffer: 512}
	var err error
	if s.guest, err = s.Group.guest(s.closing, "player", fmt.Sprintf("session_%d", n), dice); err != nil {
		if s.closing.Err() == nil {
			s.Checker.Violations.Add("no guest could be made: %v", err)
		}
		return
	}
	s.startedAt = time.Now()
	for failures := 0; ; failures++ {
		connectedAt := time.Now()
		s.server = s.Group.server(dice, s.server)
		err := s.connectAndRead()
		if time.Since(connectedAt) > time.Minute { // the connection had lasted
			failures = 0
		}
		after, ok := ReconnectAfter(err)
		if s.closing.Err() != nil {
			return
		}
		if !ok || s.Strict {
			s.Checker.Violations.Add("%s: the connection was closed: %v", s.guest.ID, err)
			return
		}
		if !s.pause(after * time.Duration(min(1+failures, maxBackoff))) {
			return
		}
	}
}

// connectAndRead reads one connection until it ends, and returns the reason.
func (s *session) connectAndRead() (err error) {
	defer testenv.Recover(&err)
	ctx, cancel := context.WithTimeout(s.closing, s.ReplyTimeout)
	dialledAt := time.Now()
	p, err := s.dialer.Connect(ctx, s.server, s.guest, nil)
	cancel()
	s.countConnect(time.Since(dialledAt), err)
	testenv.MustDo(err)
	if !s.startedAt.IsZero() {
		s.Stats.Add(Served, time.Since(s.startedAt))
		s.startedAt = time.Time{}
	}
	s.Connected.Add(1)
	defer func() {
		s.Connected.Add(-1)
		if s.closing.Err() == nil {
			s.Stats.Count("session "+outcome(err), 1)
		}
	}()
	defer context.AfterFunc(s.closing, func() { _ = p.Close() })()
	defer p.Close()
	defer testenv.Recover(&err)
	if s.isWatcher {
		testenv.Must(p.Send(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}))
	}
	for {
		if s.isWatcher && s.PingInterval > 0 {
			s.ping(p)
			s.pause(s.PingInterval)
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
		s.Stats.Count("boards pushed", 1)
	case bytes.Contains(raw, []byte(`"type":"`+protocol.TypeError+`"`)) && s.Strict:
		breach("refused: %s", raw)
	}
	return raw
}

// ping sends a ping and waits for its pong.
func (s *session) ping(p *Player) {
	sentAt := time.Now()
	testenv.Must(p.Send(protocol.TypePing, protocol.Ping{At: json.RawMessage("1")}))
	for isAnswered := false; !isAnswered; {
		isAnswered = bytes.Contains(s.read(p, s.ReplyTimeout), []byte(`"type":"`+protocol.TypePong+`"`))
	}
	s.Stats.Add(Pong, time.Since(sentAt))
}
