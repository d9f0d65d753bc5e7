package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/lobby"
	"laststand/internal/redisx"
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
func (s *Lobby) AddTicket(ctx context.Context, t lobby.Ticket, former lobby.Activity, now int64) (lobby.Listing, error) {
	return s.enterTicket(ctx, t, lobby.FirstSlice, now, 1, encodeActivity(former))
}

// ListNearest implements lobby.TicketStore.
func (s *Lobby) ListNearest(ctx context.Context, t lobby.Ticket, slice lobby.Slice, now int64) (lobby.Listing, error) {
	return s.enterTicket(ctx, t, slice, now, 0, "")
}

// enterTicket runs enter_ticket.lua. The arguments isNew and replacedBusy are its last two.
func (s *Lobby) enterTicket(ctx context.Context, t lobby.Ticket, slice lobby.Slice, now int64, isNew int, replacedBusy string) (lobby.Listing, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return lobby.Listing{}, fmt.Errorf("redisstore: enter ticket: %w", err)
	}
	k := lobbyKeys{t.Game}
	values, err := enterTicketScript.Run(ctx, s.client, []string{k.tickets(), k.waiting(), k.alive(), k.busy(t.Seat.Player), k.pairings()},
		t.ID, ticket, t.Rating(), now, now+ticketAliveMS, slice.Count, slice.Skip, busyTTL.Milliseconds(), isNew, replacedBusy).Slice()
	if err != nil {
		return lobby.Listing{}, fmt.Errorf("redisstore: enter ticket: %w", err)
	}
	reply := redisx.Reply(values)
	listing := lobby.Listing{Activity: parseActivity(reply.Text(0)), Waiting: reply.Number(2)}
	listing.Activity.Forming = reply.Number(1) == 1
	for _, raw := range reply.Texts(3) {
		var near lobby.Ticket
		if err := json.Unmarshal([]byte(raw), &near); err != nil {
			return lobby.Listing{}, fmt.Errorf("redisstore: enter ticket: %w", err)
		}
		listing.Nearest = append(listing.Nearest, near)
	}
	return listing, nil
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
