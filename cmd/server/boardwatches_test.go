package main

import (
	"testing"

	"laststand/internal/cli"
	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	player "laststand/loadtest/players"
)

// Many connections watch as many leaderboards as they may, with different limits. A player who
// watches one leaderboard still gets its pushes.
func TestLeaderboardWatchesOfOtherClientsDoNotEvictAWatch(t *testing.T) {
	t.Parallel()
	node := startNode(t, cli.Flags{Data: ptr(t.TempDir()), Config: configFile(t, unlimitedReadsConfig)})
	windows, orders := []string{"all", "day", "7d", "30d"}, []string{"value", "score"}
	others := make([]*player.Player, 64)
	for i := range others {
		others[i] = newPlayer(t, node.url)
		for j := range 8 {
			watch := protocol.BoardWatch{Window: windows[j%4], Order: orders[j/4], Limit: ptr(100 + i)}
			if f := request(t, others[i], protocol.TypeBoardWatch, watch); f.Type != protocol.TypeBoardOK {
				t.Fatalf("connection %d, watch %d: %s", i, j, f.Raw)
			}
		}
	}
	control := newPlayer(t, node.url)
	if f := request(t, control, protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}); f.Type != protocol.TypeBoardOK {
		t.Fatalf("the watch of the control player: %s", f.Raw)
	}
	readPush[leaderboard.Page](t, control, protocol.TypeBoard)
	players := playDuels(t, node.url, 1)
	for {
		page := readPush[leaderboard.Page](t, control, protocol.TypeBoard)
		if len(page.Entries) == len(players) {
			return
		}
	}
}
