package checker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// host holds its share of the arenas.
func (o *checker) host(ctx context.Context, number int) error {
	if o.Arenas <= number {
		return nil
	}
	sub := fmt.Sprintf("host_%d", number)
	token, err := o.fleet.token(ctx, sub)
	if err != nil {
		return err
	}
	dice := o.dice(uint64(100 + number))
	h := &holder{o: o, ReconnectingPlayer: o.roamer(player.Guest{ID: sub, Token: token}, dice)}
	defer h.Close()
	for i := number; i < o.Arenas; i += hosts {
		size := min(fewest+dice.IntN(most-fewest+1), max(2, o.Players/hosts))
		err := h.hold(ctx, plan(i, size))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			o.violations.add("arena %d: %v", i+1, err)
			return nil
		}
	}
	return nil
}

// holder is an active host.
type holder struct {
	*player.ReconnectingPlayer
	o      *checker
	at     string // the node that was last asked to make an arena
	made   protocol.ArenaMade
	pushed time.Time // the newest push of the match; before that, when the arena was made or asked to start
	asked  bool      // has asked to start the arena
	begun  bool
	over   bool
}

// hold makes an arena, fills it, starts it and waits for its end.
func (h *holder) hold(ctx context.Context, e event) error {
	if err := h.make(ctx, e.NewArena); err != nil {
		return err
	}
	a := h.o.invite(h.made.Code, e)
	h.asked, h.begun, h.over, h.pushed = false, false, false, time.Now()
	h.enter()
	for !h.over {
		h.start(a, e)
		f, err := h.Next(ctx, time.Now().Add(look))
		if err == nil {
			err = h.take(ctx, f)
		}
		if err == nil {
			err = h.checkPace(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// start starts the arena when all seats are taken, or after a while if at least two are.
func (h *holder) start(a *arena, e event) {
	n := a.players()
	if h.asked || n < e.size && (n < 2 || time.Since(h.pushed) < gatherWithin) {
		return
	}
	h.asked, h.pushed = true, time.Now()
	a.begun.Store(true)
	h.o.log("%s with %d players begins", e.Mode, n)
	h.Ask(protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: h.made.ArenaID})
}

// checkPace reports an arena that no player joins, or that does not continue.
func (h *holder) checkPace(a *arena) error {
	still := time.Since(h.pushed)
	switch {
	case h.asked && still > stillWithin:
		return violation("arena %s has not gone on for %v; begun: %v", a.code, stillWithin, h.begun)
	case !h.asked && still > beginWithin:
		return violation("arena %s has %d players after %v", a.code, a.players(), beginWithin)
	}
	return nil
}

// make asks one node after another to make the arena, until one does.
func (h *holder) make(ctx context.Context, a protocol.NewArena) error {
	var errs error
	for until := time.Now().Add(giveUp); time.Now().Before(until); {
		h.at = h.NextServer(h.at)
		made, err := makeArena(ctx, h.at, h.Token, a)
		if err == nil {
			h.made = made
			return nil
		}
		errs = err
		if refused, ok := errors.AsType[*player.StatusError](err); ok && refused.Status < 500 && refused.Status != 429 {
			return err
		}
		if err := pause(ctx, 2*look); err != nil {
			return err
		}
	}
	return errs
}

func makeArena(ctx context.Context, server, token string, a protocol.NewArena) (protocol.ArenaMade, error) {
	ctx, cancel := context.WithTimeout(ctx, replyTimeout)
	defer cancel()
	return player.CreateArena(ctx, server, "demo", token, a)
}

func (h *holder) enter() {
	h.Ask(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: h.made.Code, As: "host"})
}

// take handles a frame. The host also records the pushes of the match.
func (h *holder) take(ctx context.Context, f player.Received) error {
	switch {
	case f.Seq != 0:
		h.begun, h.pushed = true, f.ReceivedAt
		h.over = f.Type == protocol.TypeMatchOver
		return h.o.records.of(f.Match).see(f)
	case f.Type == protocol.TypeWelcome && !h.begun && !h.IsAwaitingReply(protocol.TypeArenaJoin):
		h.enter()
	case f.Type == protocol.TypeError:
		return h.refused(ctx, f)
	}
	return nil
}

// refused handles an error. The server refuses a request that it has already carried
// out.
func (h *holder) refused(ctx context.Context, f player.Received) error {
	var e protocol.Error
	if err := json.Unmarshal(f.Data, &e); err != nil {
		return err
	}
	switch e.Code {
	case protocol.CodeUnavailable, protocol.CodeOverloaded, protocol.CodeRateLimited:
		if err := pause(ctx, max(time.Duration(e.RetryAfterMS)*time.Millisecond, look)); err != nil {
			return err
		}
		h.Ask(f.Request.Kind, f.Request.Data)
		return nil
	case protocol.CodeArenaStarted:
		if f.Request.Attempts > 1 {
			return nil
		}
	}
	return violation("%s was answered with %s", f.Request.Kind, f.Raw)
}
