package redisstore

import (
	"context"
	"encoding/json"
	"fmt"

	"laststand/internal/lobby"
)

// Pair implements lobby.PairingStore.
func (s *Lobby) Pair(ctx context.Context, p lobby.Pairing) (bool, error) {
	pairing, err := json.Marshal(p)
	if err != nil {
		return false, fmt.Errorf("redisstore: pair tickets: %w", err)
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
	if err != nil {
		return false, fmt.Errorf("redisstore: pair tickets: %w", err)
	}
	return isPaired, nil
}

// CompletePairing implements lobby.PairingStore.
func (s *Lobby) CompletePairing(ctx context.Context, p lobby.Pairing) error {
	k := lobbyKeys{p.Tickets[0].Game}
	args := []any{p.Match}
	for _, t := range p.Tickets {
		args = append(args, t.ID)
	}
	if err := completePairingScript.Run(ctx, s.client, []string{k.pairings(), k.alive()}, args...).Err(); err != nil {
		return fmt.Errorf("redisstore: complete pairing: %w", err)
	}
	return nil
}

// RollBackPairing implements lobby.PairingStore.
func (s *Lobby) RollBackPairing(ctx context.Context, p lobby.Pairing, now int64) (bool, error) {
	k := lobbyKeys{p.Tickets[0].Game}
	redisKeys := []string{k.tickets(), k.waiting(), k.alive(), k.pairings()}
	args := []any{p.Match, now, busyTTL.Milliseconds()}
	for _, t := range p.Tickets {
		ticket, err := json.Marshal(t)
		if err != nil {
			return false, fmt.Errorf("redisstore: roll back pairing: %w", err)
		}
		redisKeys = append(redisKeys, k.busy(t.Seat.Player))
		args = append(args, t.ID, t.Rating(), ticket)
	}
	rolledBack, err := rollBackPairingScript.Run(ctx, s.client, redisKeys, args...).Bool()
	if err != nil {
		return false, fmt.Errorf("redisstore: roll back pairing: %w", err)
	}
	return rolledBack, nil
}

// ListPairings implements lobby.PairingStore.
func (s *Lobby) ListPairings(ctx context.Context, game string) ([]lobby.Pairing, error) {
	raw, err := s.client.HVals(ctx, lobbyKeys{game}.pairings()).Result()
	if err != nil {
		return nil, fmt.Errorf("redisstore: list pairings: %w", err)
	}
	pairings := make([]lobby.Pairing, len(raw))
	for i := range raw {
		if err := json.Unmarshal([]byte(raw[i]), &pairings[i]); err != nil {
			return nil, fmt.Errorf("redisstore: list pairings: %w", err)
		}
	}
	return pairings, nil
}
