package main

import (
	"net/http"
	"testing"
	"time"

	"laststand/internal/cli"
	"laststand/internal/protocol"
	"laststand/loadtest/checker"
)

// Duels that a player leaves before a question is closed are not stored. After ten of them in
// an hour a player must wait. Others at the same address continue to play.
func TestEarlyForfeitsAreNotStoredAndAreLimited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	node := startNode(t, cli.Flags{Data: &dir, Config: configFile(t, "limits: {messages_per_second: 1000, early_forfeits_per_hour_per_address: 12}")})
	guests := newGuests(t, []string{node.url}, 3)
	quitter := newMatchClient(t, node.url, guests[0])
	for range 10 {
		id := quitter.joinAndLeave(t)
		if status := get(t, node.url+"/v1/games/demo/matches/"+id, nil); status != http.StatusNotFound {
			t.Errorf("the duel is stored: status %d", status)
		}
	}
	quitter.checkJoinRefused(t)
	var history struct{ Matches []struct{ Match string } }
	if get(t, node.url+"/v1/games/demo/players/"+guests[0].ID+"/matches", &history); len(history.Matches) != 0 {
		t.Errorf("history %+v", history)
	}
	if stored := sumMetric(t, node.opsURL, "laststand_settle_results_total") + sumMetric(t, node.opsURL, "laststand_match_unsettled_results"); stored != 0 {
		t.Errorf("%d results were stored", stored)
	}
	second := newMatchClient(t, node.url, guests[1])
	second.joinAndLeave(t)
	second.joinAndLeave(t) // the address has used up its own limit
	second.checkJoinRefused(t)
	if f := request(t, newMatchClient(t, node.url, guests[2]).Player, protocol.TypeDuelJoin, protocol.DuelJoin{}); f.Type != protocol.TypeDuelQueued {
		t.Errorf("a player who has left no duel is refused: %s", f.Raw)
	}
	for rule, want := range map[string]int{"early_forfeits_per_hour_per_player": 1, "early_forfeits_per_hour_per_address": 1} {
		if got := sumMetric(t, node.opsURL, "laststand_limit_refusals_total", rule); got != want {
			t.Errorf("%s refused %d, want %d", rule, got, want)
		}
	}
}

func joinWithBot() protocol.DuelJoin {
	delay := int64(1)
	return protocol.DuelJoin{BotAfterMS: &delay}
}

// joinAndLeave starts a duel against a bot and leaves it immediately.
func (c *matchClient) joinAndLeave(t *testing.T) (match string) {
	t.Helper()
	if f := request(t, c.Player, protocol.TypeDuelJoin, joinWithBot()); f.Type != protocol.TypeDuelQueued {
		t.Fatalf("joining was answered with %s", f.Raw)
	}
	found := readUntil(t, c.Player, "a duel", func(f checker.Frame) bool { return f.Type == protocol.TypeMatchFound })
	c.leaveMatch(t, found.Match)
	return found.Match
}

// leaveMatch leaves a duel and waits for its end.
func (c *matchClient) leaveMatch(t *testing.T, match string) {
	t.Helper()
	if _, err := c.Send(protocol.TypeMatchLeave, protocol.MatchLeave{Match: match}); err != nil {
		t.Fatal(err)
	}
	frame := readUntil(t, c.Player, "the end of the match", func(f checker.Frame) bool { return f.Type == protocol.TypeMatchOver })
	var over protocol.MatchOver
	if readData(t, frame, &over); over.Reason != "forfeit" || len(over.Standings) != 2 {
		t.Errorf("leaving was answered with %s", frame.Raw)
	}
}

// checkJoinRefused checks that the server refuses a duel to the player for a while.
func (c *matchClient) checkJoinRefused(t *testing.T) {
	t.Helper()
	f := request(t, c.Player, protocol.TypeDuelJoin, joinWithBot())
	var e protocol.Error
	if readData(t, f, &e); e.Code != protocol.CodeRateLimited || e.RetryAfterMS < 1000 || e.RetryAfterMS > 24*time.Hour.Milliseconds() {
		t.Errorf("joining was answered with %s", f.Raw)
	}
}
