package redisstore

import (
	"context"
	"slices"
	"strings"

	"laststand/internal/lobby"
	"laststand/internal/redisx"
)

// ReadActivity implements lobby.ActivityStore.
func (s *Lobby) ReadActivity(ctx context.Context, game, player string) (lobby.Activity, error) {
	k := lobbyKeys{game}
	values, err := readActivityScript.Run(ctx, s.client, []string{k.busy(player), k.pairings(), k.duel(player)}).Slice()
	reply := redisx.Reply(values)
	activity := parseActivity(reply.Text(0))
	activity.Forming, activity.Duel = reply.Number(1) == 1, reply.Text(2)
	return activity, wrap("read activity", err)
}

// Occupy implements lobby.ActivityStore.
func (s *Lobby) Occupy(ctx context.Context, o lobby.OccupyRequest, now int64) (lobby.Activity, error) {
	k := lobbyKeys{o.Game}
	otherActivity, err := occupyPlayerScript.Run(ctx, s.client, []string{k.busy(o.Player), k.tickets(), k.waiting(), k.alive(), k.pairings()},
		o.Match, o.Former, now, busyTTL.Milliseconds()).Text()
	return parseActivity(otherActivity), wrap("occupy player", err)
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
			return wrap("free players", err)
		}
	}
	return nil
}

// encodeMatch returns the value of the key busy for an activity that may be a match.
func encodeMatch(activity lobby.Activity) string {
	if activity.Match == "" {
		return ""
	}
	return "match:" + activity.Match
}

// parseActivity returns the activity of a value of the key busy, without Forming and
// Duel.
func parseActivity(text string) lobby.Activity {
	switch kind, id, _ := strings.Cut(text, ":"); kind {
	case "ticket":
		return lobby.Activity{Ticket: id}
	case "match":
		return lobby.Activity{Match: id}
	}
	return lobby.Activity{}
}
