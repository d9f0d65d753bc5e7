package redisstore

import (
	"context"
	"encoding/json"

	"laststand/internal/lobby"
)

// Pair implements lobby.PairingStore.
func (s *Lobby) Pair(ctx context.Context, p lobby.Pairing) (bool, error) {
	pairing, err := json.Marshal(p)
	if err != nil {
		return false, wrap("pair tickets", err)
	}
	k := lobbyKeys{p.Tickets[0].Game}
	redisKeys := []string{k.tickets(), k.waiting(), k.pairings()}
	args := []any{p.Match, pairing, busyTTL.Milliseconds()}
	for _, t := range p.Tickets {
		redisKeys = append(redisKeys, k.busy(t.Seat.Player))
		args = append(args, t.ID)
	}
	for _, t := range p.Tickets {
		redisKeys = append(redisKeys, k.duel(t.Seat.Player))
	}
	isPaired, err := pairTicketsScript.Run(ctx, s.client, redisKeys, args...).Bool()
	return isPaired, wrap("pair tickets", err)
}

// CompletePairing implements lobby.PairingStore.
func (s *Lobby) CompletePairing(ctx context.Context, p lobby.Pairing) error {
	k := lobbyKeys{p.Tickets[0].Game}
	args := []any{p.Match}
	for _, t := range p.Tickets {
		args = append(args, t.ID)
	}
	return wrap("complete pairing", completePairingScript.Run(ctx, s.client, []string{k.pairings(), k.alive()}, args...).Err())
}

// RollBackPairing implements lobby.PairingStore.
func (s *Lobby) RollBackPairing(ctx context.Context, p lobby.Pairing, now int64) (bool, error) {
	k := lobbyKeys{p.Tickets[0].Game}
	redisKeys := []string{k.tickets(), k.waiting(), k.alive(), k.pairings()}
	args := []any{p.Match, now, busyTTL.Milliseconds()}
	for _, t := range p.Tickets {
		ticket, err := json.Marshal(t)
		if err != nil {
			return false, wrap("roll back pairing", err)
		}
		redisKeys = append(redisKeys, k.busy(t.Seat.Player))
		args = append(args, t.ID, t.Rating(), ticket)
	}
	rolledBack, err := rollBackPairingScript.Run(ctx, s.client, redisKeys, args...).Bool()
	return rolledBack, wrap("roll back pairing", err)
}

// ListPairings implements lobby.PairingStore.
func (s *Lobby) ListPairings(ctx context.Context, game string) ([]lobby.Pairing, error) {
	raw, err := s.client.HVals(ctx, lobbyKeys{game}.pairings()).Result()
	if err != nil {
		return nil, wrap("list pairings", err)
	}
	pairings := make([]lobby.Pairing, len(raw))
	for i, text := range raw {
		if err := json.Unmarshal([]byte(text), &pairings[i]); err != nil {
			return nil, wrap("list pairings", err)
		}
	}
	return pairings, nil
}
