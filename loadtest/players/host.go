package players

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// host is the host of an arena. It also checks the pushes of its match.
type host struct {
	*player
	arena     *arena
	since     time.Time // of the newest push; before the match, when the arena was made or asked to start
	isStarted bool      // has asked to start the match
}

// gatherTimeout bounds how long an arena waits for its last players.
const gatherTimeout = 10 * time.Second

// holdArena makes an arena with a new host, offers its seats, and plays it to the end. It
// returns false if no further arena makes sense.
func holdArena(g *Group, a Arenas, offers chan<- *seat) bool {
	p, err := g.newPlayer(g.closing, "host")
	h := &host{player: p}
	defer h.disconnect()
	if err == nil {
		err = h.makeArena(a.Mode, a.MinPlayers+h.dice.IntN(a.MaxPlayers-a.MinPlayers+1))
	}
	if err == nil {
		for _, s := range h.arena.seats() {
			select {
			case offers <- s:
			default: // there are more seats than players
				s.decline()
			}
		}
		err = h.hold()
	}
	h.reportEnd(err)
	return err == nil && h.arena.taken.Load() > 0
}

// makeArena asks one node after another to make an arena, until one does.
func (h *host) makeArena(mode string, size int) error {
	body := protocol.NewArena{
		Mode: mode, Name: "Load test", Teams: teams(mode), Pace: "auto", Ranked: h.group.Ranked,
		Questions: protocol.ArenaQuestions{Count: h.group.Questions, Lang: "en"},
	}
	server := ""
	for until := time.Now().Add(h.group.ConnectTimeout); ; {
		server = h.group.server(h.dice, server)
		ctx, cancel := context.WithTimeout(h.group.closing, h.group.ReplyTimeout)
		made, err := CreateArena(ctx, server, "demo", h.Token, body)
		cancel()
		switch {
		case err == nil:
			h.arena = &arena{mode: mode, made: made, size: size}
			return nil
		case !isTemporary(err), h.group.Strict, time.Now().After(until):
			return fmt.Errorf("%w: an arena was refused: %w", checker.ErrContract, err)
		}
		h.group.Stats.Count("arena "+outcome(err), 1)
		if !h.group.pause(2 * checkInterval) {
			return context.Cause(h.group.closing)
		}
	}
}

// hold joins the arena as its host, starts it, and waits for the end of its match.
func (h *host) hold() error {
	h.since = time.Now()
	h.join()
	for isOver := false; !isOver; {
		if !h.isStarted && h.isReady() {
			if h.arena.taken.Load() == 0 { // no player will come
				return h.checkConnection()
			}
			h.start()
		}
		f, err := h.Next(h.group.life, time.Now().Add(checkInterval))
		if err == nil {
			err = h.receive(f)
		}
		if err == nil {
			err = h.checkSilence()
		}
		if err != nil {
			return err
		}
		isOver = f.Type == protocol.TypeMatchOver
	}
	return nil
}

func (h *host) join() {
	h.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: h.arena.made.Code, As: "host"})
}

// isReady reports whether the arena may start: all seats are taken or declined, or the
// wait for the last players is over.
func (h *host) isReady() bool {
	taken, declined := int(h.arena.taken.Load()), int(h.arena.declined.Load())
	return taken+declined >= h.arena.size || taken > 1 && time.Since(h.since) > gatherTimeout
}

func (h *host) start() {
	h.isStarted, h.since = true, time.Now()
	h.arena.isStarted.Store(true)
	h.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: h.arena.made.ArenaID})
}

// receive handles a frame.
func (h *host) receive(f Received) error {
	if err := h.view.Push(f.Frame, f.ClusterMS); err != nil {
		return err
	}
	switch {
	case f.Seq > 0:
		h.since = f.ReceivedAt
		h.group.arenaMatch.Store(f.Match)
	case f.Type == protocol.TypeWelcome && !h.view.IsPlaying() && !h.IsAwaitingReply(protocol.TypeArenaJoin):
		h.join()
	case f.Type == protocol.TypeError:
		return h.refused(f)
	}
	return nil
}

// refused handles an error reply. A server refuses a start that it has already carried
// out.
func (h *host) refused(f Received) error {
	var e protocol.Error
	if err := json.Unmarshal(f.Data, &e); err != nil {
		return err
	}
	switch {
	case isForNow(e) && !h.group.Strict:
		if !h.group.pause(max(time.Duration(e.RetryAfterMS)*time.Millisecond, checkInterval)) && h.group.life.Err() != nil {
			return h.group.life.Err()
		}
		h.Ask(f.Request.Kind, f.Request.Data)
		return nil
	case e.Code == protocol.CodeArenaStarted && f.Request.Attempts > 1:
		return nil
	}
	return fmt.Errorf("%w: %s was answered with %s", checker.ErrContract, f.Request.Kind, f.Raw)
}

// checkSilence reports an arena that no player joins, or that does not continue.
func (h *host) checkSilence() error {
	silence := time.Since(h.since)
	if h.isStarted && silence > h.group.SilenceTimeout || !h.isStarted && silence > max(startTimeout, h.group.SilenceTimeout) {
		return fmt.Errorf("%w: arena %s has not continued for %v: %d of %d seats are taken, started: %t", checker.ErrContract,
			h.arena.made.Code, silence, h.arena.taken.Load(), h.arena.size, h.isStarted)
	}
	return h.checkConnection()
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

// playArenas takes one seat after another, until no more are offered.
func playArenas(g *Group, offers <-chan *seat) {
	p, err := g.newPlayer(g.closing, "player")
	defer p.disconnect()
	for s := range offers {
		if err != nil || p.isLost || !p.isConnected && !g.awaitConnect() {
			s.decline()
			continue
		}
		err = p.play(&matchRun{leave: g.closing, seat: s})
		p.reportEnd(err)
	}
}
