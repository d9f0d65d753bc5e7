package redisstore

import (
	"context"
	"fmt"
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

// Free implements lobby.ActivityStore.
func (s *Lobby) Free(ctx context.Context, game, player, match string) error {
	k := lobbyKeys{game}
	err := freePlayerScript.Run(ctx, s.client, []string{k.busy(player), k.duel(player)}, encodeActivity(lobby.Activity{Match: match}), match).Err()
	if err != nil {
		return fmt.Errorf("redisstore: free player: %w", err)
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
