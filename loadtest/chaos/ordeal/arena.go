package ordeal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// hosts hold arenas, each one after another.
const hosts = 4

const (
	fewest, most = 10, 80 // players of an arena, as far as there are so many
	gatherWithin = 8 * time.Second
)

// arena is one that a host holds.
type arena struct {
	code  string
	begun atomic.Bool // takes no more seats

	mu     sync.Mutex
	joined map[string]bool
}

// seat is offered to a contender.
type seat struct {
	arena *arena
	team  string
}

func (a *arena) join(player string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.joined[player] = true
}

func (a *arena) players() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.joined)
}

// host holds its part of the arenas.
func (o *ordeal) host(ctx context.Context, number int) error {
	if o.Arenas <= number {
		return nil
	}
	sub := fmt.Sprintf("host_%d", number)
	token, err := o.fleet.token(ctx, sub)
	if err != nil {
		return err
	}
	dice := o.dice(uint64(100 + number))
	h := &holder{o: o, Roamer: o.roamer(player.Guest{ID: sub, Token: token}, dice)}
	defer h.Close()
	for i := number; i < o.Arenas; i += hosts {
		size := min(fewest+dice.IntN(most-fewest+1), max(2, o.Players/hosts))
		err := h.hold(ctx, plan(i, size))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			o.untruths.add("arena %d: %v", i+1, err)
			return nil
		}
	}
	return nil
}

// event is an arena that is to be held.
type event struct {
	protocol.NewArena
	size int
}

// plan is the arena of a number: buzzer between teams and survival by turns.
func plan(number, size int) event {
	e := event{size: size, NewArena: protocol.NewArena{
		Mode: "survival", Name: fmt.Sprintf("Ordeal %d", number+1), Pace: "auto", Ranked: true,
		Questions: protocol.ArenaQuestions{Count: 2 * questions, Lang: "en"},
	}}
	if number%2 == 0 {
		e.Mode = "buzzer"
		e.Teams = []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "green", Name: "Green"}, {ID: "blue", Name: "Blue"}}
	}
	return e
}

// holder is a host at work.
type holder struct {
	*player.Roamer
	o      *ordeal
	at     string // the node that was last asked for an arena
	made   protocol.ArenaMade
	pushed time.Time // the newest push of the match, or when it was asked for
	asked  bool      // to start it
	begun  bool
	over   bool
}

// hold makes an arena, fills it, starts it and sees it to its end.
func (h *holder) hold(ctx context.Context, e event) error {
	if err := h.make(ctx, e.NewArena); err != nil {
		return err
	}
	a := h.o.invite(h.made.Code, e)
	h.asked, h.begun, h.over, h.pushed = false, false, false, time.Now()
	h.enter()
	for gather := time.Now().Add(gatherWithin); !h.over; {
		if n := a.players(); !h.asked && (n == e.size || n > 1 && time.Now().After(gather)) {
			h.asked = true
			a.begun.Store(true)
			h.o.say("%s with %d players begins", e.Mode, n)
			h.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: h.made.ArenaID})
		}
		f, err := h.Next(ctx, time.Now().Add(look))
		if err == nil {
			err = h.take(ctx, f)
		}
		if err != nil {
			return err
		}
		if time.Since(h.pushed) > stillWithin {
			return untrue("arena %s has not gone on for %v; asked to start: %v, begun: %v", h.made.Code, stillWithin, h.asked, h.begun)
		}
	}
	return nil
}

// invite offers the seats of an arena to whoever is free.
func (o *ordeal) invite(code string, e event) *arena {
	a := &arena{code: code, joined: make(map[string]bool)}
	for i := range e.size {
		s := &seat{arena: a}
		if len(e.Teams) > 0 {
			s.team = e.Teams[i%len(e.Teams)].ID
		}
		select {
		case o.seats <- s:
		default: // there are more seats than players
		}
	}
	return a
}

// make makes the arena at some node, as soon as one does.
func (h *holder) make(ctx context.Context, a protocol.NewArena) error {
	var errs error
	for until := time.Now().Add(giveUp); time.Now().Before(until); {
		h.at = h.Servers(h.at)
		made, err := makeArena(ctx, h.at, h.Token, a)
		if err == nil {
			h.made = made
			return nil
		}
		errs = err
		if refused, ok := errors.AsType[*player.Refused](err); ok && refused.Status < 500 && refused.Status != 429 {
			return err
		}
		if err := pause(ctx, 2*look); err != nil {
			return err
		}
	}
	return errs
}

func makeArena(ctx context.Context, server, token string, a protocol.NewArena) (protocol.ArenaMade, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return player.NewArena(ctx, server, "demo", token, a)
}

func (h *holder) enter() {
	h.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: h.made.Code, As: "host"})
}

// take follows on a frame: the host is one more witness of the match.
func (h *holder) take(ctx context.Context, f player.Heard) error {
	switch {
	case f.Seq != 0:
		h.begun, h.pushed = true, f.Came
		h.over = f.Type == protocol.TypeMatchOver
		return h.o.records.of(f.Match).see(f)
	case f.Type == protocol.TypeWelcome && !h.begun && !h.Waits(protocol.TypeArenaJoin):
		h.enter()
	case f.Type == protocol.TypeError:
		return h.refused(ctx, f)
	}
	return nil
}

// refused follows on an error: what has been done is refused a second time.
func (h *holder) refused(ctx context.Context, f player.Heard) error {
	var e protocol.Error
	if err := json.Unmarshal(f.Data, &e); err != nil {
		return err
	}
	switch e.Code {
	case protocol.CodeUnavailable, protocol.CodeOverloaded, protocol.CodeRateLimited:
		if err := pause(ctx, max(time.Duration(e.RetryAfterMS)*time.Millisecond, look)); err != nil {
			return err
		}
		h.Ask(f.To.Kind, f.To.Data)
		return nil
	case protocol.CodeArenaStarted:
		if f.To.Sent > 1 {
			return nil
		}
	}
	return untrue("%s was answered with %s", f.To.Kind, f.Raw)
}
