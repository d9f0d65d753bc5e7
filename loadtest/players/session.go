package players

import (
	"encoding/json"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

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
			defer p.disconnect()
			if err == nil {
				p.dialer.Buffer, p.isSilent = 512, !areWatchers
				err = p.keepSession()
			}
			p.reportEnd(err)
		})
	}
}

// keepSession keeps a session connected until the group closes. If it may not be silent, it
// watches a leaderboard.
func (p *member) keepSession() (err error) {
	defer testenv.Recover(&err)
	g, startedAt, isWelcome := p.group, time.Now(), false
	interval, sendsPings := time.Hour, !p.isSilent && p.group.PingInterval > 0
	if sendsPings {
		interval = g.PingInterval
	}
	for pingAt := startedAt; ; {
		h := p.next(g.closing, pingAt)
		switch h.Type {
		case protocol.TypeWelcome:
			if isWelcome {
				g.Stats.Count("session reconnected", 1)
			} else {
				g.Stats.Add(Served, time.Since(startedAt))
			}
			if isWelcome = true; !p.isSilent {
				p.ask(protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"})
			}
		case protocol.TypeBoard:
			g.Stats.Count("boards pushed", 1)
		case protocol.TypeError:
			checker.BreachIf(g.Strict, "refused: %s", h.Raw)
		case "":
			if pingAt = time.Now().Add(interval); sendsPings {
				p.ask(protocol.TypePing, protocol.Ping{At: json.RawMessage("1")})
			}
		}
		p.checkConnection()
	}
}
