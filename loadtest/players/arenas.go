package players

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
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

// arena is one of the arenas of a host.
type arena struct {
	Arenas
	made        protocol.ArenaMade
	size        int                    // seats
	firstPlayer atomic.Pointer[string] // id
	taken       atomic.Int64           // seats that players have
	declined    atomic.Int64           // seats that their players will not take
	isStarted   atomic.Bool            // the host has asked to start the match: no more seats
}

// seat is a seat in an arena that is offered to a player.
type seat struct {
	arena *arena
	team  string
}

// teams are the teams of buzzer arenas. Their players take them in turn.
var teams = []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "green", Name: "Green"}, {ID: "blue", Name: "Blue"}}

// gatherTimeout is how long an arena waits for its last players, unless Arenas says otherwise.
const gatherTimeout = 10 * time.Second

// isReady reports whether the arena may start: all seats are taken or declined, or the wait
// for the last players is over. hasPlayers is false if no player came.
func (a *arena) isReady(waitedFor time.Duration) (isReady, hasPlayers bool) {
	taken, declined := int(a.taken.Load()), int(a.declined.Load())
	return taken+declined >= a.size || taken > 1 && waitedFor > cmp.Or(a.Wait, gatherTimeout), taken > 0
}

// AddArenas starts a host for one arena after another, and the players of its arenas if
// they have some of their own.
func (g *Group) AddArenas(a Arenas) {
	offers := g.offers
	var playing sync.WaitGroup
	if a.OwnPlayers {
		offers = make(chan *seat, a.MaxPlayers)
		for range a.MaxPlayers {
			playing.Go(func() { g.playArenas(offers) })
		}
	}
	g.hosting.Add(1)
	g.tasks.Go(func() {
		defer g.hosting.Done()
		isHeld := true
		for n := 0; isHeld && (n < a.Count || a.Count == 0) && g.closing.Err() == nil; n++ {
			isHeld = g.holdArena(a, offers)
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
func (g *Group) playArenas(offers <-chan *seat) {
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
func (g *Group) holdArena(a Arenas, offers chan<- *seat) bool {
	host, err := g.newMember(g.closing, "host")
	defer host.disconnect()
	made := &arena{Arenas: a, size: a.MinPlayers + host.dice.IntN(a.MaxPlayers-a.MinPlayers+1)}
	if err == nil {
		made.made, err = host.makeArena(a.Mode)
	}
	for i := 0; i < made.size && err == nil; i++ {
		s := &seat{arena: made}
		if a.Mode == "buzzer" {
			s.team = teams[i%len(teams)].ID
		}
		select {
		case offers <- s:
		default: // there are more seats than players
			made.declined.Add(1)
		}
	}
	if err == nil {
		err = host.play(&matchRun{leave: g.closing, hosts: made})
	}
	host.reportEnd(err)
	return err == nil && made.taken.Load() > 0
}

// makeArena asks one node after another to make an arena, until one does.
func (p *member) makeArena(mode string) (made protocol.ArenaMade, err error) {
	g := p.group
	body := protocol.NewArena{
		Mode: mode, Name: "Load test", Pace: "auto", Ranked: g.Ranked, Questions: protocol.ArenaQuestions{Count: g.Questions, Lang: "en"},
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
	for until := time.Now().Add(g.ConnectTimeout); ; {
		server = g.server(p.dice, server)
		ctx, cancel := context.WithTimeout(g.closing, g.ReplyTimeout)
		made, err = CreateArena(ctx, server, "demo", p.Token, body)
		cancel()
		switch {
		case err == nil:
			return made, nil
		case !isTemporary(err), g.Strict, time.Now().After(until):
			return made, checker.ContractError("an arena was refused: %w", err)
		}
		g.Stats.Count("arena "+outcome(err), 1)
		if !g.pause(2 * checkInterval) {
			return made, context.Cause(g.closing)
		}
	}
}

// SetDuellists changes the number of duel players. It starts new ones, or the newest
// leave when their match is over.
func (g *Group) SetDuellists(n int) {
	g.mu.Lock()
	for len(g.quits) > n {
		last := len(g.quits) - 1
		g.quits[last]()
		g.quits = g.quits[:last]
	}
	missing := n - len(g.quits)
	g.mu.Unlock()
	for ; missing > 0 && g.awaitConnect(); missing-- {
		leave, quit := context.WithCancel(g.closing)
		g.mu.Lock()
		g.quits = append(g.quits, quit)
		g.mu.Unlock()
		g.tasks.Go(func() {
			defer quit()
			g.playDuels(leave)
		})
	}
}

// playDuels plays duels with a new player, and between them the arenas that offer a seat. If the
// group ends, the player stays connected.
func (g *Group) playDuels(leave context.Context) {
	p, err := g.newMember(leave, "player")
	for err == nil && leave.Err() == nil {
		if p.chance(g.Habits.MoveFirstShare) {
			p.dropConnection()
		}
		err = p.play(&matchRun{leave: leave, seat: nextSeat(g.offers)})
	}
	p.reportEnd(err)
	if g.closing.Err() == nil { // only this player leaves
		p.disconnect()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.duellists = append(g.duellists, p)
}

// nextSeat returns a seat that an arena offers to players of duels, nil for none.
func nextSeat(offers <-chan *seat) *seat {
	for {
		select {
		case s := <-offers:
			if !s.arena.isStarted.Load() {
				return s
			}
		default:
			return nil
		}
	}
}

// Rejoin lets all duel players enter the queue once more, after Wait, and leave it. A
// player that the server still counts in a match cannot do this. They enter one after
// another, so that no two of them meet.
func (g *Group) Rejoin() {
	for _, p := range g.duellists {
		if !p.isLost {
			p.reportEnd(p.play(&matchRun{leave: g.closing, isAlone: true}))
		}
	}
}
