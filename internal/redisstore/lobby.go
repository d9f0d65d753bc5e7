package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
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

// lobbyKeys returns the Redis keys of a game's lobby.
type lobbyKeys struct{ game string }

func (k lobbyKeys) tag() string               { return "{lobby:" + k.game + "}" }
func (k lobbyKeys) tickets() string           { return "tickets:" + k.tag() }
func (k lobbyKeys) waiting() string           { return "waiting:" + k.tag() }
func (k lobbyKeys) alive() string             { return "alive:" + k.tag() }
func (k lobbyKeys) pairings() string          { return "pairings:" + k.tag() }
func (k lobbyKeys) busy(player string) string { return "busy:" + k.tag() + ":" + player }
func (k lobbyKeys) duel(player string) string { return "duel:" + k.tag() + ":" + player }

// NewLobby returns the lobby that uses client.
func NewLobby(client redis.UniversalClient) *Lobby { return &Lobby{client: client} }

// AddTicket implements lobby.TicketStore.
func (s *Lobby) AddTicket(ctx context.Context, t lobby.Ticket, former lobby.Activity, now int64) (lobby.Listing, error) {
	return s.enterTicket(ctx, t, lobby.FirstSlice, now, 1, encodeMatch(former))
}

// ListNearest implements lobby.TicketStore.
func (s *Lobby) ListNearest(ctx context.Context, t lobby.Ticket, slice lobby.Slice, now int64) (lobby.Listing, error) {
	return s.enterTicket(ctx, t, slice, now, 0, "")
}

// enterTicket runs enter_ticket.lua. The arguments isNew and replacedBusy are its last two.
func (s *Lobby) enterTicket(ctx context.Context, t lobby.Ticket, slice lobby.Slice, now int64, isNew int, replacedBusy string) (lobby.Listing, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return lobby.Listing{}, wrap("enter ticket", err)
	}
	k := lobbyKeys{t.Game}
	values, err := enterTicketScript.Run(ctx, s.client, []string{k.tickets(), k.waiting(), k.alive(), k.busy(t.Seat.Player), k.pairings()},
		t.ID, ticket, t.Rating(), now, now+ticketAliveMS, slice.Count, slice.Skip, busyTTL.Milliseconds(), isNew, replacedBusy).Slice()
	if err != nil {
		return lobby.Listing{}, wrap("enter ticket", err)
	}
	reply := redisx.Reply(values)
	listing := lobby.Listing{Activity: parseActivity(reply.Text(0)), Waiting: reply.Number(2)}
	listing.Activity.Forming = reply.Number(1) == 1
	for listed := range slices.Chunk(reply.List(3), 3) {
		rating, err := strconv.ParseFloat(listed.Text(1), 64)
		if err != nil {
			return lobby.Listing{}, wrap("enter ticket", err)
		}
		listing.Nearest = append(listing.Nearest, lobby.ListedTicket{ID: listed.Text(0), Rating: rating, JSON: listed.Text(2)})
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
	return t, err == nil, wrap("read ticket", err)
}

// RemoveTicket implements lobby.TicketStore.
func (s *Lobby) RemoveTicket(ctx context.Context, game, player string) (string, error) {
	k := lobbyKeys{game}
	id, err := removeTicketScript.Run(ctx, s.client, []string{k.busy(player), k.tickets(), k.waiting(), k.alive()}).Text()
	return id, wrap("remove ticket", err)
}
