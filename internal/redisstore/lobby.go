package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lobby"
)

const (
	// ticketAliveMS is how long a ticket lives after its node has renewed it, in ms.
	ticketAliveMS = 5000
	// busyTTL is the time to live of the key busy. It is longer than the waiting
	// time plus the playing time of any arena. Each try to pair a ticket renews it.
	busyTTL = 48 * time.Hour
)

// Lobby implements lobby.TicketStore, lobby.PairingStore and lobby.ActivityStore. It is safe for concurrent use.
type Lobby struct{ client redis.UniversalClient }

// NewLobby returns the lobby that uses client.
func NewLobby(client redis.UniversalClient) *Lobby { return &Lobby{client: client} }

// AddTicket implements lobby.TicketStore.
func (s *Lobby) AddTicket(ctx context.Context, t lobby.Ticket, former lobby.Activity, now int64) (int64, lobby.Activity, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return 0, lobby.Activity{}, fmt.Errorf("redisstore: add ticket: %w", err)
	}
	k := lobbyKeys{t.Game}
	reply, err := addTicketScript.Run(ctx, s.client, []string{k.busy(t.Seat.Player), k.tickets(), k.waiting(), k.alive()},
		t.ID, ticket, t.Rating(), now, now+ticketAliveMS, encodeActivity(former), busyTTL.Milliseconds()).Slice()
	if err != nil {
		return 0, lobby.Activity{}, fmt.Errorf("redisstore: add ticket: %w", err)
	}
	waiting, _ := reply[0].(int64)
	otherActivity, _ := reply[1].(string)
	return waiting, parseActivity(otherActivity), nil
}

// ListNearest implements lobby.TicketStore.
func (s *Lobby) ListNearest(ctx context.Context, t lobby.Ticket, slice lobby.Slice, now int64) ([]lobby.Ticket, bool, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return nil, false, fmt.Errorf("redisstore: list nearest tickets: %w", err)
	}
	k := lobbyKeys{t.Game}
	raw, err := listNearestScript.Run(ctx, s.client, []string{k.tickets(), k.waiting(), k.alive(), k.busy(t.Seat.Player)},
		t.ID, t.Rating(), now, now+ticketAliveMS, slice.Count, slice.Skip, ticket, busyTTL.Milliseconds()).StringSlice()
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("redisstore: list nearest tickets: %w", err)
	}
	tickets := make([]lobby.Ticket, len(raw))
	for i := range raw {
		if err := json.Unmarshal([]byte(raw[i]), &tickets[i]); err != nil {
			return nil, false, fmt.Errorf("redisstore: list nearest tickets: %w", err)
		}
	}
	return tickets, true, nil
}

// ReadTicket implements lobby.TicketStore.
func (s *Lobby) ReadTicket(ctx context.Context, game, id string) (t lobby.Ticket, isWaiting bool, err error) {
	raw, err := s.client.HGet(ctx, lobbyKeys{game}.tickets(), id).Bytes()
	if errors.Is(err, redis.Nil) {
		return t, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil {
		return t, false, fmt.Errorf("redisstore: read ticket: %w", err)
	}
	return t, true, nil
}

// RemoveTicket implements lobby.TicketStore.
func (s *Lobby) RemoveTicket(ctx context.Context, game, player string) (string, error) {
	k := lobbyKeys{game}
	id, err := removeTicketScript.Run(ctx, s.client, []string{k.busy(player), k.tickets(), k.waiting(), k.alive()}).Text()
	if err != nil {
		return "", fmt.Errorf("redisstore: remove ticket: %w", err)
	}
	return id, nil
}
