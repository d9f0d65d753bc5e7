package redislobby

import (
	"context"
	"fmt"
	"strings"

	"laststand/internal/lobby"
)

// Where implements lobby.Store.
func (s *Store) Where(ctx context.Context, game, player string) (lobby.Busy, error) {
	k := keys{game}
	reply, err := whereScript.Run(ctx, s.client, []string{k.busy(player), k.pairings(), k.duel(player)}).Slice()
	if err != nil {
		return lobby.Busy{}, fmt.Errorf("redislobby: where: %w", err)
	}
	what, _ := reply[0].(string)
	forming, _ := reply[1].(int64)
	busy := busyOf(what)
	busy.Forming = forming == 1
	busy.Duel, _ = reply[2].(string)
	return busy, nil
}

// Occupy implements lobby.Store.
func (s *Store) Occupy(ctx context.Context, o lobby.Occupation, now int64) (lobby.Busy, error) {
	k := keys{o.Game}
	with, err := occupyScript.Run(ctx, s.client, []string{k.busy(o.Player), k.tickets(), k.waiting(), k.alive(), k.pairings()},
		o.Match, o.Former, now, busyTTL.Milliseconds()).Text()
	if err != nil {
		return lobby.Busy{}, fmt.Errorf("redislobby: occupy: %w", err)
	}
	return busyOf(with), nil
}

// Free implements lobby.Store.
func (s *Store) Free(ctx context.Context, game, player, match string) error {
	k := keys{game}
	err := freeScript.Run(ctx, s.client, []string{k.busy(player), k.duel(player)}, busyText(lobby.Busy{Match: match}), match).Err()
	if err != nil {
		return fmt.Errorf("redislobby: free: %w", err)
	}
	return nil
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
