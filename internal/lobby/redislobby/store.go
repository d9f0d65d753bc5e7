// Package redislobby keeps tickets and pairings in Redis. All keys of a
// game's lobby share one hash tag, so that every move is one script. It
// implements lobby.Store.
package redislobby

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lobby"
)

const (
	// aliveMS is how long a ticket waits that its node does not look after.
	aliveMS = 5000
	// nearMost is how many tickets are looked at either way by rating.
	nearMost = 32
	busyTTL  = 24 * time.Hour
)

var (
	//go:embed enter.lua
	enterSource string
	//go:embed near.lua
	nearSource string
	//go:embed pair.lua
	pairSource string
	//go:embed leave.lua
	leaveSource string
	//go:embed free.lua
	freeSource string
	//go:embed where.lua
	whereSource string

	enterScript = redis.NewScript(enterSource)
	nearScript  = redis.NewScript(nearSource)
	pairScript  = redis.NewScript(pairSource)
	leaveScript = redis.NewScript(leaveSource)
	freeScript  = redis.NewScript(freeSource)
	whereScript = redis.NewScript(whereSource)
)

// Store is safe for concurrent use.
type Store struct{ client redis.UniversalClient }

// New makes a store.
func New(client redis.UniversalClient) *Store { return &Store{client: client} }

// keys names every key of a game's lobby.
type keys struct{ game string }

func (k keys) tag() string               { return "{lobby:" + k.game + "}" }
func (k keys) tickets() string           { return "tickets:" + k.tag() }
func (k keys) waiting() string           { return "waiting:" + k.tag() }
func (k keys) alive() string             { return "alive:" + k.tag() }
func (k keys) pairings() string          { return "pairings:" + k.tag() }
func (k keys) busy(player string) string { return "busy:" + k.tag() + ":" + player }

// Enter implements lobby.Store.
func (s *Store) Enter(ctx context.Context, t lobby.Ticket, former lobby.Busy, now int64) (int64, lobby.Busy, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return 0, lobby.Busy{}, fmt.Errorf("redislobby: enter: %w", err)
	}
	k := keys{t.Game}
	reply, err := enterScript.Run(ctx, s.client, []string{k.busy(t.Seat.Player), k.tickets(), k.waiting(), k.alive()},
		t.ID, ticket, t.Rating(), now, now+aliveMS, busyText(former), busyTTL.Milliseconds()).Slice()
	if err != nil {
		return 0, lobby.Busy{}, fmt.Errorf("redislobby: enter: %w", err)
	}
	waiting, _ := reply[0].(int64)
	with, _ := reply[1].(string)
	return waiting, busyOf(with), nil
}

// Near implements lobby.Store.
func (s *Store) Near(ctx context.Context, t lobby.Ticket, now int64) ([]lobby.Ticket, bool, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return nil, false, fmt.Errorf("redislobby: near: %w", err)
	}
	k := keys{t.Game}
	raw, err := nearScript.Run(ctx, s.client, []string{k.tickets(), k.waiting(), k.alive(), k.busy(t.Seat.Player)},
		t.ID, t.Rating(), now, now+aliveMS, nearMost, ticket).StringSlice()
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("redislobby: near: %w", err)
	}
	tickets := make([]lobby.Ticket, len(raw))
	for i := range raw {
		if err := json.Unmarshal([]byte(raw[i]), &tickets[i]); err != nil {
			return nil, false, fmt.Errorf("redislobby: near: %w", err)
		}
	}
	return tickets, true, nil
}

// Pair implements lobby.Store.
func (s *Store) Pair(ctx context.Context, p lobby.Pairing) (bool, error) {
	pairing, err := json.Marshal(p)
	if err != nil {
		return false, fmt.Errorf("redislobby: pair: %w", err)
	}
	k := keys{p.Tickets[0].Game}
	names := []string{k.tickets(), k.waiting(), k.alive(), k.pairings()}
	args := []any{p.Match, pairing, busyTTL.Milliseconds()}
	for _, t := range p.Tickets {
		names = append(names, k.busy(t.Seat.Player))
		args = append(args, t.ID)
	}
	won, err := pairScript.Run(ctx, s.client, names, args...).Bool()
	if err != nil {
		return false, fmt.Errorf("redislobby: pair: %w", err)
	}
	return won, nil
}

// Done implements lobby.Store.
func (s *Store) Done(ctx context.Context, game, match string) error {
	if err := s.client.HDel(ctx, keys{game}.pairings(), match).Err(); err != nil {
		return fmt.Errorf("redislobby: done: %w", err)
	}
	return nil
}

// Leave implements lobby.Store.
func (s *Store) Leave(ctx context.Context, game, player string) (string, error) {
	k := keys{game}
	id, err := leaveScript.Run(ctx, s.client, []string{k.busy(player), k.tickets(), k.waiting(), k.alive()}).Text()
	if err != nil {
		return "", fmt.Errorf("redislobby: leave: %w", err)
	}
	return id, nil
}

// Where implements lobby.Store.
func (s *Store) Where(ctx context.Context, game, player string) (lobby.Busy, error) {
	k := keys{game}
	reply, err := whereScript.Run(ctx, s.client, []string{k.busy(player), k.pairings()}).Slice()
	if err != nil {
		return lobby.Busy{}, fmt.Errorf("redislobby: where: %w", err)
	}
	what, _ := reply[0].(string)
	forming, _ := reply[1].(int64)
	busy := busyOf(what)
	busy.Forming = forming == 1
	return busy, nil
}

// Free implements lobby.Store.
func (s *Store) Free(ctx context.Context, game, player, match string) error {
	if err := freeScript.Run(ctx, s.client, []string{keys{game}.busy(player)}, busyText(lobby.Busy{Match: match})).Err(); err != nil {
		return fmt.Errorf("redislobby: free: %w", err)
	}
	return nil
}

// Pairings implements lobby.Store.
func (s *Store) Pairings(ctx context.Context, game string) ([]lobby.Pairing, error) {
	raw, err := s.client.HVals(ctx, keys{game}.pairings()).Result()
	if err != nil {
		return nil, fmt.Errorf("redislobby: pairings: %w", err)
	}
	pairings := make([]lobby.Pairing, len(raw))
	for i := range raw {
		if err := json.Unmarshal([]byte(raw[i]), &pairings[i]); err != nil {
			return nil, fmt.Errorf("redislobby: pairings: %w", err)
		}
	}
	return pairings, nil
}

func busyText(b lobby.Busy) string {
	switch {
	case b.Ticket != "":
		return "ticket:" + b.Ticket
	case b.Match != "":
		return "match:" + b.Match
	}
	return ""
}

func busyOf(text string) lobby.Busy {
	if id, ok := strings.CutPrefix(text, "ticket:"); ok {
		return lobby.Busy{Ticket: id}
	}
	if id, ok := strings.CutPrefix(text, "match:"); ok {
		return lobby.Busy{Match: id}
	}
	return lobby.Busy{}
}
