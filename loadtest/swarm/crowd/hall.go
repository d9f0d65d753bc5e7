package crowd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// hall is where one arena after another is played: by the same players, led by
// the same host.
type hall struct {
	Hall
	c     *Crowd
	host  *person
	seats []chan *round // a player's next arena; closed when there is none
}

// round is one arena.
type round struct {
	id, code string
	inside   atomic.Int64   // players who are seated
	coming   atomic.Int64   // players who may still be
	playing  sync.WaitGroup // until all have played it
}

// hosting is what the host of an arena does.
type hosting struct {
	since time.Time
	asked bool // to start it
}

// gather bounds how long an arena waits for its last players.
const gather = 20 * time.Second

// open opens a hall: its players come one after another.
func (c *Crowd) open(nth int) {
	h := &hall{Hall: c.Halls[nth], c: c}
	for i := range h.Seats {
		next := make(chan *round, 1)
		h.seats = append(h.seats, next)
		c.working.Go(func() { h.sit(i, next) })
	}
	c.working.Go(func() {
		defer func() {
			for _, next := range h.seats {
				close(next)
			}
		}()
		var err error
		h.host, err = c.newPerson(c.closing, "host")
		defer h.host.leave()
		for err == nil && c.closing.Err() == nil {
			err = h.play()
		}
		c.ended(h.host, err)
	})
}

// sit is a player of the hall.
func (h *hall) sit(nth int, next <-chan *round) {
	p, err := h.c.newPerson(h.c.closing, "player")
	defer p.leave()
	h.c.ended(p, err)
	team := h.teams()
	for r := range next {
		if err == nil && (p.here || h.c.turn()) {
			join := protocol.ArenaJoin{Code: r.code}
			if len(team) > 0 {
				join.Team = team[nth%len(team)].ID
			}
			err = p.play(h.c.closing, entry{
				kind: protocol.TypeArenaJoin, data: join, counts: h.c.Mint, round: r, in: r.taken,
			})
			h.c.ended(p, err)
		} else {
			r.taken(errGone)
		}
		r.playing.Done()
	}
}

// taken notes that one who was to come is in, or will not be.
func (r *round) taken(err error) {
	r.coming.Add(-1)
	if err == nil {
		r.inside.Add(1)
	}
}

func (h *hall) teams() []protocol.ArenaTeam {
	if h.Mode != "buzzer" {
		return nil
	}
	return []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}}
}

// play has one arena played.
func (h *hall) play() error {
	made, err := h.make()
	if err != nil {
		return err
	}
	r := &round{id: made.ArenaID, code: made.Code}
	r.coming.Store(int64(len(h.seats)))
	r.playing.Add(len(h.seats))
	for _, next := range h.seats {
		next <- r // there is room: each has played the last one
	}
	err = h.host.play(h.c.life, entry{
		kind: protocol.TypeArenaJoin, data: protocol.ArenaJoin{Code: r.code, As: "host"}, round: r, host: &hosting{since: time.Now()},
	})
	r.playing.Wait()
	if err == nil && r.inside.Load() == 0 && h.c.closing.Err() == nil {
		err = errors.New("no player of this host's arenas is left")
	}
	return err
}

// make makes an arena, as soon as the server does.
func (h *hall) make() (made protocol.ArenaMade, err error) {
	a := protocol.NewArena{
		Mode: h.Mode, Name: "swarm", Teams: h.teams(), Pace: "auto", Ranked: h.c.Mint,
		Questions: protocol.ArenaQuestions{Count: h.c.Questions, Lang: "en"},
	}
	for {
		ctx, cancel := context.WithTimeout(h.c.closing, patience)
		made, err = player.NewArena(ctx, h.c.server(len(h.host.ID)), "demo", h.host.Token, a)
		cancel()
		if err == nil || h.c.closing.Err() != nil {
			return made, errors.Join(err, h.c.closing.Err())
		}
		h.c.tally.Count("arena "+outcome(err), 1)
		why, ok := errors.AsType[*player.Refused](err)
		if ok && why.Status != 429 && why.Status != 503 {
			return made, fmt.Errorf("%w: an arena was refused: %w", player.ErrFalse, err)
		}
		if !h.c.pause(time.Second) {
			return made, h.c.closing.Err()
		}
	}
}

// lead starts the arena once all are in it, or after a while.
func (t *part) lead(now time.Time) {
	if t.host.asked || !t.joined || t.round.coming.Load() > 0 && now.Sub(t.host.since) < gather {
		return
	}
	if t.round.inside.Load() == 0 {
		if t.round.coming.Load() == 0 { // nobody will come
			t.gone = true
		}
		return
	}
	t.host.asked, t.since = true, now
	t.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: t.round.id})
}
