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
	// ticketAliveMS is how long a ticket lives after its node has renewed it, in ms.
	ticketAliveMS = 5000
	// busyTTL is the time to live of the key busy. It is longer than the waiting
	// time plus the playing time of any arena. Each try to pair a ticket renews it.
	busyTTL = 48 * time.Hour
)

var (
	//go:embed add_ticket.lua
	addTicketSource string
	//go:embed list_nearest.lua
	listNearestSource string
	//go:embed pair_tickets.lua
	pairTicketsSource string
	//go:embed complete_pairing.lua
	completePairingSource string
	//go:embed roll_back_pairing.lua
	rollBackPairingSource string
	//go:embed remove_ticket.lua
	removeTicketSource string
	//go:embed occupy_player.lua
	occupyPlayerSource string
	//go:embed free_player.lua
	freePlayerSource string
	//go:embed read_activity.lua
	readActivitySource string

	addTicketScript       = redis.NewScript(addTicketSource)
	listNearestScript     = redis.NewScript(listNearestSource)
	pairTicketsScript     = redis.NewScript(pairTicketsSource)
	completePairingScript = redis.NewScript(completePairingSource)
	rollBackPairingScript = redis.NewScript(rollBackPairingSource)
	removeTicketScript    = redis.NewScript(removeTicketSource)
	occupyPlayerScript    = redis.NewScript(occupyPlayerSource)
	freePlayerScript      = redis.NewScript(freePlayerSource)
	readActivityScript    = redis.NewScript(readActivitySource)
)

// Store implements lobby.Store. It is safe for concurrent use.
type Store struct{ client redis.UniversalClient }

// New returns a store that uses client.
func New(client redis.UniversalClient) *Store { return &Store{client: client} }

// AddTicket implements lobby.Store.
func (s *Store) AddTicket(ctx context.Context, t lobby.Ticket, former lobby.Activity, now int64) (int64, lobby.Activity, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return 0, lobby.Activity{}, fmt.Errorf("redislobby: add ticket: %w", err)
	}
	k := keys{t.Game}
	reply, err := addTicketScript.Run(ctx, s.client, []string{k.busy(t.Seat.Player), k.tickets(), k.waiting(), k.alive()},
		t.ID, ticket, t.Rating(), now, now+ticketAliveMS, encodeActivity(former), busyTTL.Milliseconds()).Slice()
	if err != nil {
		return 0, lobby.Activity{}, fmt.Errorf("redislobby: add ticket: %w", err)
	}
	waiting, _ := reply[0].(int64)
	otherActivity, _ := reply[1].(string)
	return waiting, parseActivity(otherActivity), nil
}

// ListNearest implements lobby.Store.
func (s *Store) ListNearest(ctx context.Context, t lobby.Ticket, slice lobby.Slice, now int64) ([]lobby.Ticket, bool, error) {
	ticket, err := json.Marshal(t)
	if err != nil {
		return nil, false, fmt.Errorf("redislobby: list nearest tickets: %w", err)
	}
	k := keys{t.Game}
	raw, err := listNearestScript.Run(ctx, s.client, []string{k.tickets(), k.waiting(), k.alive(), k.busy(t.Seat.Player)},
		t.ID, t.Rating(), now, now+ticketAliveMS, slice.Count, slice.Skip, ticket, busyTTL.Milliseconds()).StringSlice()
	if errors.Is(err, redis.Nil) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("redislobby: list nearest tickets: %w", err)
	}
	tickets := make([]lobby.Ticket, len(raw))
	for i := range raw {
		if err := json.Unmarshal([]byte(raw[i]), &tickets[i]); err != nil {
			return nil, false, fmt.Errorf("redislobby: list nearest tickets: %w", err)
		}
	}
	return tickets, true, nil
}

// ReadTicket implements lobby.Store.
func (s *Store) ReadTicket(ctx context.Context, game, id string) (t lobby.Ticket, isWaiting bool, err error) {
	raw, err := s.client.HGet(ctx, keys{game}.tickets(), id).Bytes()
	if errors.Is(err, redis.Nil) {
		return t, false, nil
	}
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil {
		return t, false, fmt.Errorf("redislobby: read ticket: %w", err)
	}
	return t, true, nil
}

// RemoveTicket implements lobby.Store.
func (s *Store) RemoveTicket(ctx context.Context, game, player string) (string, error) {
	k := keys{game}
	id, err := removeTicketScript.Run(ctx, s.client, []string{k.busy(player), k.tickets(), k.waiting(), k.alive()}).Text()
	if err != nil {
		return "", fmt.Errorf("redislobby: remove ticket: %w", err)
	}
	return id, nil
}
