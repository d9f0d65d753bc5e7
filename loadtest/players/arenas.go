package players

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// Arenas describes arenas that take place one after another, each with a new host.
type Arenas struct {
	Mode       string // buzzer, survival or race
	MinPlayers int
	MaxPlayers int
	Count      int           // how many arenas; 0: until the group stops
	OwnPlayers bool          // MaxPlayers players play only these arenas; else the seats are offered to players of duels
	Wait       time.Duration // for the last players; 0: 10 s
	ExtraTime  bool          // the first player of each race and survival arena gets extra time
}

// AddArenas starts a host for one arena after another, and the players of its arenas if
// they have some of their own.
func (g *Group) AddArenas(a Arenas) {
	offers := g.offers
	var playing sync.WaitGroup
	if a.OwnPlayers {
		offers = make(chan *seat, a.MaxPlayers)
		for range a.MaxPlayers {
			playing.Go(func() { playArenas(g, offers) })
		}
	}
	g.hosting.Add(1)
	g.tasks.Go(func() {
		defer g.hosting.Done()
		for n := 0; (n < a.Count || a.Count == 0) && g.closing.Err() == nil; n++ {
			if !holdArena(g, a, offers) {
				break
			}
		}
		if a.OwnPlayers {
			close(offers)
		}
		playing.Wait()
	})
}

// AwaitArenas waits until all hosts have held their arenas.
func (g *Group) AwaitArenas() { g.hosting.Wait() }

// playArenas takes one seat after another, until no more are offered.
func playArenas(g *Group, offers <-chan *seat) {
	p, err := g.newMember(g.closing, "player")
	defer p.disconnect()
	for s := range offers {
		if err != nil || p.isLost || !p.isConnected && !g.awaitConnect() {
			s.arena.declined.Add(1)
			continue
		}
		err = p.play(&matchRun{leave: g.closing, seat: s})
		p.reportEnd(err)
	}
}

// holdArena makes an arena with a new host, offers its seats, and plays it to the end. The
// host also checks the pushes of the match. It returns false if no further arena makes sense.
func holdArena(g *Group, a Arenas, offers chan<- *seat) bool {
	host, err := g.newMember(g.closing, "host")
	defer host.disconnect()
	made := &arena{mode: a.Mode, size: a.MinPlayers + host.dice.IntN(a.MaxPlayers-a.MinPlayers+1), wait: cmp.Or(a.Wait, gatherTimeout), givesExtra: a.ExtraTime && a.Mode != "buzzer"}
	if err == nil {
		made.made, err = host.makeArena(a.Mode)
	}
	if err == nil {
		made.offerSeats(offers)
		err = host.play(&matchRun{leave: g.closing, hosts: made})
	}
	host.reportEnd(err)
	return err == nil && made.taken.Load() > 0
}

// makeArena asks one node after another to make an arena, until one does.
func (p *member) makeArena(mode string) (made protocol.ArenaMade, err error) {
	body := protocol.NewArena{
		Mode: mode, Name: "Load test", Pace: "auto", Ranked: p.group.Ranked,
		Questions: protocol.ArenaQuestions{Count: p.group.Questions, Lang: "en"},
	}
	if mode != "survival" {
		body.Teams = teams
	}
	if mode == "race" {
		points := int64(300)
		body.ReadingMS = 100
		body.Scoring = &protocol.NewScoring{Preset: []string{"speed", "accuracy"}[p.dice.IntN(2)], Points: &points, Penalty: 50, Streak: 20, Partial: true}
	}
	server := ""
	for until := time.Now().Add(p.group.ConnectTimeout); ; {
		server = p.group.server(p.dice, server)
		ctx, cancel := context.WithTimeout(p.group.closing, p.group.ReplyTimeout)
		made, err = CreateArena(ctx, server, "demo", p.Token, body)
		cancel()
		switch {
		case err == nil:
			return made, nil
		case !isTemporary(err), p.group.Strict, time.Now().After(until):
			return made, fmt.Errorf("%w: an arena was refused: %w", checker.ErrContract, err)
		}
		p.group.Stats.Count("arena "+outcome(err), 1)
		if !p.group.pause(2 * checkInterval) {
			return made, context.Cause(p.group.closing)
		}
	}
}
