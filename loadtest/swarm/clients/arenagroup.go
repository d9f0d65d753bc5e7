package clients

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// arenaGroup plays one arena after another with the same players and the same host.
type arenaGroup struct {
	ArenaGroup
	c         *Clients
	host      *client
	nextArena []chan *arenaRun // a player's next arena; closed when there is none
}

// arenaRun is one arena.
type arenaRun struct {
	id, code string
	inside   atomic.Int64   // players who have a seat
	coming   atomic.Int64   // players who may still get a seat
	playing  sync.WaitGroup // done when all players have played the arena
}

// hostState is what the host of an arena has done.
type hostState struct {
	since       time.Time
	isStartSent bool // the host has sent the request that starts the arena
}

// joinTimeout bounds how long an arena waits for its last players.
const joinTimeout = 20 * time.Second

// startArenaGroup starts an arena group. Its players connect one after another.
func (c *Clients) startArenaGroup(nth int) {
	h := &arenaGroup{ArenaGroup: c.ArenaGroups[nth], c: c}
	for i := range h.Seats {
		next := make(chan *arenaRun, 1)
		h.nextArena = append(h.nextArena, next)
		c.tasks.Go(func() { h.playSeat(i, next) })
	}
	c.tasks.Go(func() {
		defer func() {
			for _, next := range h.nextArena {
				close(next)
			}
		}()
		var err error
		h.host, err = c.newClient(c.closing, "host")
		defer h.host.disconnect()
		for err == nil && c.closing.Err() == nil {
			err = h.playArena()
		}
		c.reportEnd(h.host, err)
	})
}

// playSeat plays every arena of the group for one player.
func (h *arenaGroup) playSeat(nth int, next <-chan *arenaRun) {
	p, err := h.c.newClient(h.c.closing, "player")
	defer p.disconnect()
	h.c.reportEnd(p, err)
	team := h.teams()
	for r := range next {
		if err == nil && (p.isConnected || h.c.waitToConnect()) {
			join := protocol.ArenaJoin{Code: r.code}
			if len(team) > 0 {
				join.Team = team[nth%len(team)].ID
			}
			err = p.play(h.c.closing, entry{
				kind: protocol.TypeArenaJoin, data: join, counts: h.c.Mint, round: r, reportEntry: r.countArrival,
			})
			h.c.reportEnd(p, err)
		} else {
			r.countArrival(errArenaStarted)
		}
		r.playing.Done()
	}
}

// countArrival notes that an expected player has a seat, or will not get one.
func (r *arenaRun) countArrival(err error) {
	r.coming.Add(-1)
	if err == nil {
		r.inside.Add(1)
	}
}

func (h *arenaGroup) teams() []protocol.ArenaTeam {
	if h.Mode != "buzzer" {
		return nil
	}
	return []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}}
}

// playArena plays one arena.
func (h *arenaGroup) playArena() error {
	made, err := h.makeArena()
	if err != nil {
		return err
	}
	r := &arenaRun{id: made.ArenaID, code: made.Code}
	r.coming.Store(int64(len(h.nextArena)))
	r.playing.Add(len(h.nextArena))
	for _, next := range h.nextArena {
		next <- r // the channel has room: each player has played the last arena
	}
	err = h.host.play(h.c.ctx, entry{
		kind: protocol.TypeArenaJoin, data: protocol.ArenaJoin{Code: r.code, As: "host"}, round: r, host: &hostState{since: time.Now()},
	})
	r.playing.Wait()
	if err == nil && r.inside.Load() == 0 && h.c.closing.Err() == nil {
		err = errors.New("no player of this host's arenas is left")
	}
	return err
}

// makeArena makes an arena, and retries until the server accepts the request.
func (h *arenaGroup) makeArena() (made protocol.ArenaMade, err error) {
	a := protocol.NewArena{
		Mode: h.Mode, Name: "swarm", Teams: h.teams(), Pace: "auto", Ranked: h.c.Mint,
		Questions: protocol.ArenaQuestions{Count: h.c.Questions, Lang: "en"},
	}
	for {
		ctx, cancel := context.WithTimeout(h.c.closing, replyTimeout)
		made, err = player.CreateArena(ctx, h.c.server(len(h.host.ID)), "demo", h.host.Token, a)
		cancel()
		if err == nil || h.c.closing.Err() != nil {
			return made, errors.Join(err, h.c.closing.Err())
		}
		h.c.stats.Count("arena "+outcome(err), 1)
		refused, ok := errors.AsType[*player.StatusError](err)
		if ok && refused.Status != 429 && refused.Status != 503 {
			return made, fmt.Errorf("%w: an arena was refused: %w", player.ErrContract, err)
		}
		if !h.c.pause(time.Second) {
			return made, h.c.closing.Err()
		}
	}
}

// startArena starts the arena when all players have seats, or after joinTimeout.
func (t *participation) startArena(now time.Time) {
	if t.host.isStartSent || !t.hasEntered || t.round.coming.Load() > 0 && now.Sub(t.host.since) < joinTimeout {
		return
	}
	if t.round.inside.Load() == 0 {
		if t.round.coming.Load() == 0 { // no player will come
			t.isRefused = true
		}
		return
	}
	t.host.isStartSent, t.since = true, now
	t.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: t.round.id})
}
