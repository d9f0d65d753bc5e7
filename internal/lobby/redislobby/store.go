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
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lobby"
)

const (
	// aliveMS is how long a ticket waits that its node does not look after.
	aliveMS = 5000
	// busyTTL is longer than any arena waits and is played; looking after a
	// ticket renews it.
	busyTTL = 48 * time.Hour
)

var (
	//go:embed enter.lua
	enterSource string
	//go:embed near.lua
	nearSource string
	//go:embed pair.lua
	pairSource string
	//go:embed done.lua
	doneSource string
	//go:embed undo.lua
	undoSource string
	//go:embed leave.lua
	leaveSource string
	//go:embed occupy.lua
	occupySource string
	//go:embed free.lua
	freeSource string
	//go:embed where.lua
	whereSource string

	enterScript  = redis.NewScript(enterSource)
	nearScript   = redis.NewScript(nearSource)
	pairScript   = redis.NewScript(pairSource)
	doneScript   = redis.NewScript(doneSource)
	undoScript   = redis.NewScript(undoSource)
	leaveScript  = redis.NewScript(leaveSource)
	occupyScript = redis.NewScript(occupySource)
	freeScript   = redis.NewScript(freeSource)
	whereScript  = redis.NewScript(whereSource)
)

// Store is safe for concurrent use.
type Store struct{ client redis.UniversalClient }

// New makes a store.
func New(client redis.UniversalClient) *Store { return &Store{client: client} }

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
func (s *Store) Near(ctx context.Context, t lobby.Ticket, of lobby.Slice, now int64) ([]lobby.Ticket, bool, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return nil, false, fmt.Errorf("redislobby: near: %w", err)
	}
	k := keys{t.Game}
	raw, err := nearScript.Run(ctx, s.client, []string{k.tickets(), k.waiting(), k.alive(), k.busy(t.Seat.Player)},
		t.ID, t.Rating(), now, now+aliveMS, of.Count, of.Skip, ticket, busyTTL.Milliseconds()).StringSlice()
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

// Ticket implements lobby.Store.
func (s *Store) Ticket(ctx context.Context, game, id string) (t lobby.Ticket, waits bool, err error) {
	raw, err := s.client.HGet(ctx, keys{game}.tickets(), id).Bytes()
	if errors.Is(err, redis.Nil) {
		return t, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil {
		return t, false, fmt.Errorf("redislobby: ticket: %w", err)
	}
	return t, true, nil
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
