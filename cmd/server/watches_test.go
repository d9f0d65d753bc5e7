package main

import (
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// Many connections that watch as many boards and limits as they may take nothing
// from a player who watches one.
func TestWatchesOfOthersTakeNoRoom(t *testing.T) {
	t.Parallel()
	n := startNode(t, cli{Data: ptr(t.TempDir()), Config: configFile(t, unlimited)})
	windows, orders := []string{"all", "day", "7d", "30d"}, []string{"value", "score"}
	crowd := make([]*player.Player, 64)
	for i := range crowd {
		crowd[i] = newPlayer(t, n.url)
		for j := range 8 {
			watch := protocol.BoardWatch{Window: windows[j%4], Order: orders[j/4], Limit: ptr(100 + i)}
			if f := ask(t, crowd[i], protocol.TypeBoardWatch, watch); f.Type != protocol.TypeBoardOK {
				t.Fatalf("connection %d, watch %d: %s", i, j, f.Raw)
			}
		}
	}
	honest := newPlayer(t, n.url)
	if f := ask(t, honest, protocol.TypeBoardWatch, protocol.BoardWatch{Window: "all"}); f.Type != protocol.TypeBoardOK {
		t.Fatalf("the honest watch: %s", f.Raw)
	}
	push[leaderboard.Page](t, honest, protocol.TypeBoard)
	games := playPairs(t, n.url, 1)
	for {
		page := push[leaderboard.Page](t, honest, protocol.TypeBoard)
		if len(page.Entries) == len(games) {
			return
		}
	}
}
