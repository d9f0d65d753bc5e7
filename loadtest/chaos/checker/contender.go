package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// contender is a player of the ordeal.
type contender struct {
	*player.Roamer
	o      *checker
	dice   *rand.Rand
	played map[string]bool // matches that were over
	offer  *seat           // that is taken next; nil for none
	shown  []arrival       // of questions
	lost   bool            // was shown something untrue, and plays no more
}

const (
	replyTimeout = 3 * time.Second // for a reply, until another node is tried
	giveUp       = 30 * time.Second
)

// gather makes the players, before anything is done to the nodes.
func (o *checker) gather(ctx context.Context) ([]*contender, error) {
	all := make([]*contender, o.Players)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range all {
		all[i] = &contender{o: o, dice: o.dice(uint64(1000 + i)), played: make(map[string]bool)}
		group.Go(func() error {
			guest, err := player.NewGuest(ctx, o.fleet.draw(all[i].dice, ""), "demo", "")
			all[i].Roamer = o.roamer(guest, all[i].dice)
			return err
		})
	}
	return all, group.Wait()
}

// roamer connects a player to nodes drawn by lot.
func (o *checker) roamer(g player.Guest, dice *rand.Rand) *player.Roamer {
	server := ""
	return &player.Roamer{
		Guest: g, ReplyTimeout: replyTimeout, GiveUp: giveUp,
		Servers: func(last string) string {
			server = o.fleet.draw(dice, last)
			return server
		},
		Tried: func(took time.Duration, err error) {
			if err == nil {
				o.meter.welcomed(server, took)
			}
		},
		Clock: o.clock.bound,
	}
}

// campaign plays matches until no new ones begin: arenas that ask for players,
// else duels.
func (c *contender) campaign(ctx context.Context) error {
	for !c.o.closing.Load() && !c.lost {
		if c.dice.IntN(3) == 0 {
			c.Move()
		}
		next := duel()
		if s := c.takeSeat(); s != nil {
			next = entry{kind: protocol.TypeArenaJoin, data: protocol.ArenaJoin{Code: s.arena.code, Team: s.team}, seat: s}
		}
		k := &contest{contender: c, entry: next}
		if err := c.ended(ctx, k.run(ctx, k.done)); err != nil {
			return err
		}
		if next.seat != nil && !k.in { // a duel came first that was made before
			c.offer = next.seat
		}
	}
	return nil
}

func duel() entry {
	return entry{kind: protocol.TypeDuelJoin, data: protocol.DuelJoin{Lang: "en"}}
}

// joinAgain has the contender ask for one more duel, and take that back: who is
// left over in anything cannot. They do so one after another, so that they do
// not meet.
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

// ended reports what a contest was ended by, unless that is the context's end.
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

// takeSeat gives the seat that the contender has been offered in an arena, nil
// for none.
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
