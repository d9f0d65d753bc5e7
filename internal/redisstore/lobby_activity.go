package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"laststand/internal/lobby"
)

// ReadActivity implements lobby.ActivityStore.
func (s *Lobby) ReadActivity(ctx context.Context, game, player string) (lobby.Activity, error) {
	k := lobbyKeys{game}
	reply, err := readActivityScript.Run(ctx, s.client, []string{k.busy(player), k.pairings(), k.duel(player)}).Slice()
	if err != nil {
		return lobby.Activity{}, fmt.Errorf("redisstore: read activity: %w", err)
	}
	text, _ := reply[0].(string)
	forming, _ := reply[1].(int64)
	activity := parseActivity(text)
	activity.Forming = forming == 1
	activity.Duel, _ = reply[2].(string)
	return activity, nil
}

// Occupy implements lobby.ActivityStore.
func (s *Lobby) Occupy(ctx context.Context, o lobby.OccupyRequest, now int64) (lobby.Activity, error) {
	k := lobbyKeys{o.Game}
	otherActivity, err := occupyPlayerScript.Run(ctx, s.client, []string{k.busy(o.Player), k.tickets(), k.waiting(), k.alive(), k.pairings()},
		o.Match, o.Former, now, busyTTL.Milliseconds()).Text()
	if err != nil {
		return lobby.Activity{}, fmt.Errorf("redisstore: occupy player: %w", err)
	}
	return parseActivity(otherActivity), nil
}

// maxFreedPlayers limits the players of one script, and therefore its duration.
const maxFreedPlayers = 200

// Free implements lobby.ActivityStore. It needs one call per maxFreedPlayers players.
func (s *Lobby) Free(ctx context.Context, game string, all []lobby.PlayerMatch) error {
	k := lobbyKeys{game}
	for chunk := range slices.Chunk(all, maxFreedPlayers) {
		redisKeys, matches := make([]string, 0, 2*len(chunk)), make([]any, 0, len(chunk))
		for _, freed := range chunk {
			redisKeys, matches = append(redisKeys, k.busy(freed.Player), k.duel(freed.Player)), append(matches, freed.Match)
		}
		if err := freePlayersScript.Run(ctx, s.client, redisKeys, matches...).Err(); err != nil {
			return fmt.Errorf("redisstore: free players: %w", err)
		}
	}
	return nil
}

// encodeActivity returns the value of the key busy for an activity.
func encodeActivity(activity lobby.Activity) string {
	switch {
	case activity.Ticket != "":
		return "ticket:" + activity.Ticket
	case activity.Match != "":
		return "match:" + activity.Match
	}
	return ""
}

// parseActivity returns the activity of a value of the key busy, without Forming and
// Duel.
func parseActivity(text string) lobby.Activity {
	if id, ok := strings.CutPrefix(text, "ticket:"); ok {
		return lobby.Activity{Ticket: id}
	}
	if id, ok := strings.CutPrefix(text, "match:"); ok {
		return lobby.Activity{Match: id}
	}
	return lobby.Activity{}
}
