package main

import (
	"net"
	"net/http"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"laststand/internal/cli"
	"laststand/internal/leaderboard"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// sameAddressConfig configures a game that does not count duels between players of one address,
// and a game with the default.
const sameAddressConfig = `
games:
  strict: {duel: {questions: 2, countdown_ms: 50, reveal_ms: 20, bot_after_ms: 0, count_same_address: false}}
  usual: {duel: {questions: 2, countdown_ms: 50, reveal_ms: 20, bot_after_ms: 0}}
`

// Duels between players of one address count unless the game disables that. Then they change no
// leaderboard and no rating, while other duels still do.
func TestDuelsWithinOneAddressCountUnlessDisabled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, sameAddressConfig)})
	for _, test := range []struct {
		game, otherAddress string
		counts             bool
	}{
		{"strict", "127.0.0.1", false},
		{"strict", "127.0.0.2", true}, // last of this game, so that the leaderboard includes the first duel
		{"usual", "127.0.0.1", true},
	} {
		winner, loser := newPlayerFromAddress(t, node.url, test.game, "127.0.0.1"), newPlayerFromAddress(t, node.url, test.game, test.otherAddress)
		winner.plan = func(int) (right, silent bool) { return true, false }
		loser.plan = func(int) (right, silent bool) { return false, false }
		duel := pairUp(t, winner, loser)
		var group errgroup.Group
		duel.each(func(p *matchClient) { group.Go(p.play) })
		testenv.NoError(t, group.Wait())
		checkCounts(t, node.url, test.game, duel, test.counts)
	}
}

// checkCounts checks a duel's record, the leaderboard and its players' profiles.
func checkCounts(t *testing.T, url, game string, duel duelPair, counts bool) {
	t.Helper()
	base := url + "/v1/games/" + game
	var match struct{ Standings []struct{ Rating *int } }
	waitUntil(t, "the duel is settled", func() bool { return get(t, base+"/matches/"+duel[0].match, &match) == http.StatusOK })
	for _, s := range match.Standings {
		if (s.Rating != nil) != counts {
			t.Errorf("%s: the record says %+v, want that it counts: %v", game, s, counts)
		}
	}
	entries := 0
	if counts {
		entries = 2
	}
	var board leaderboard.Page
	waitUntil(t, "the leaderboard has the players whose duels count", func() bool {
		board = leaderboard.Page{}
		return get(t, base+"/leaderboards/all", &board) == http.StatusOK && len(board.Entries) == entries
	})
	for _, c := range duel {
		var p struct{ Rating, Matches int }
		get(t, base+"/players/"+c.id, &p)
		listed := slices.ContainsFunc(board.Entries, func(e leaderboard.Entry) bool { return e.ID == c.id })
		if (p.Rating != 1500) != counts || (p.Matches == 1) != counts || listed != counts {
			t.Errorf("%s: profile %+v, on the leaderboard %v, want that the duel counts: %v", game, p, listed, counts)
		}
	}
}

// newPlayerFromAddress connects a new guest of a game from a local address.
func newPlayerFromAddress(t *testing.T, url, game, address string) *matchClient {
	t.Helper()
	c := newDuelClient(t, url, game)
	_ = c.Close()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	p, err := player.Dialer{LocalDialer: dialer}.Connect(t.Context(), url, c.Guest, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	c.Player = p
	return c
}
