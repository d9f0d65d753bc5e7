package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// contender is a player of the run.
type contender struct {
	*player.ReconnectingPlayer
	o      *checker
	dice   *rand.Rand
	played map[string]bool // matches that are over
	offer  *seat           // the seat to take next; nil for none
	shown  []arrival       // arrivals of questions
	lost   bool            // saw a violation, and plays no more
}

const (
	replyTimeout = 3 * time.Second // until the player tries another node
	giveUp       = 30 * time.Second
)

// gather makes the players, before the faults begin.
func (o *checker) gather(ctx context.Context) ([]*contender, error) {
	all := make([]*contender, o.Players)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range all {
		all[i] = &contender{o: o, dice: o.dice(uint64(1000 + i)), played: make(map[string]bool)}
		group.Go(func() error {
			guest, err := player.CreateGuest(ctx, o.fleet.draw(all[i].dice, ""), "demo", "")
			all[i].ReconnectingPlayer = o.roamer(guest, all[i].dice)
			return err
		})
	}
	return all, group.Wait()
}

// roamer returns a player that connects to random nodes.
func (o *checker) roamer(g player.Guest, dice *rand.Rand) *player.ReconnectingPlayer {
	server := ""
	return &player.ReconnectingPlayer{
		Guest: g, ReplyTimeout: replyTimeout, ConnectTimeout: giveUp,
		NextServer: func(last string) string {
			server = o.fleet.draw(dice, last)
			return server
		},
		OnConnectAttempt: func(took time.Duration, err error) {
			if err == nil {
				o.meter.welcomed(server, took)
			}
		},
		OnClockLead: o.clock.bound,
	}
}

// campaign plays matches until no new ones start. It takes a seat in an arena if one is
// offered, and plays a duel otherwise.
func (c *contender) campaign(ctx context.Context) error {
	for !c.o.closing.Load() && !c.lost {
		if c.dice.IntN(3) == 0 {
			c.Disconnect()
		}
		next := duel()
		if s := c.takeSeat(); s != nil {
			next = entry{kind: protocol.TypeArenaJoin, data: protocol.ArenaJoin{Code: s.arena.code, Team: s.team}, seat: s}
		}
		k := &contest{contender: c, entry: next}
		if err := c.ended(ctx, k.run(ctx, k.done)); err != nil {
			return err
		}
		if next.seat != nil && !k.in { // the server had already started a duel; keep the seat for the next round
			c.offer = next.seat
		}
	}
	return nil
}

func duel() entry {
	return entry{kind: protocol.TypeDuelJoin, data: protocol.DuelJoin{Lang: "en"}}
}

// joinAgain asks for one more duel and then leaves the queue. A contender that the
// server still counts in a match cannot do this. Contenders do it one after another, so
// that no two of them meet.
func (c *contender) joinAgain(ctx context.Context) error {
	if c.lost {
		return nil
	}
	k := &contest{contender: c, entry: duel()}
	c.o.joinMu.Lock()
	err := k.run(ctx, func() bool { return k.gone || k.record != nil })
	c.o.joinMu.Unlock()
	if err == nil {
		err = k.run(ctx, k.done)
	}
	return c.ended(ctx, err)
}

// ended records the error that ended a contest as a violation. If ctx has ended, it
// returns the error of ctx instead.
func (c *contender) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		c.lost = true
		c.o.violations.add("%s: %v", c.ID, err)
	}
	return nil
}

// takeSeat returns the seat that an arena has offered to the contender, nil if there is
// none.
func (c *contender) takeSeat() *seat {
	c.offered()
	s := c.offer
	c.offer = nil
	return s
}

// offered says whether there is a seat for the contender.
func (c *contender) offered() bool {
	for c.offer == nil || c.offer.arena.begun.Load() {
		select {
		case c.offer = <-c.o.seats:
		default:
			c.offer = nil
			return false
		}
	}
	return true
}

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{player.ErrContract}, args...)...)
}
