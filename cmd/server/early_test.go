package main

import (
	"net/http"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// Duels that are left before a question is closed leave nothing behind, and
// after ten of them in an hour a player has to wait; others at the same address
// play on.
func TestDuelsLeftAtOnceAreNotStoredAndAreLimited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startNode(t, cli{Data: &dir, Config: configFile(t, "limits: {messages_per_second: 1000, early_forfeits_per_hour_per_address: 12}")})
	guests := newGuests(t, []string{n.url}, 3)
	dodger := attend(t, n.url, guests[0])
	for range 10 {
		id := dodger.joinAndLeave(t)
		if status := get(t, n.url+"/v1/games/demo/matches/"+id, nil); status != http.StatusNotFound {
			t.Errorf("the duel is kept: %d", status)
		}
	}
	dodger.refusedToJoin(t)
	var history struct{ Matches []struct{ Match string } }
	if get(t, n.url+"/v1/games/demo/players/"+guests[0].ID+"/matches", &history); len(history.Matches) != 0 {
		t.Errorf("history %+v", history)
	}
	if stored := metric(t, n.ops, "laststand_settle_results_total") + metric(t, n.ops, "laststand_match_unsettled_results"); stored != 0 {
		t.Errorf("%d results were kept", stored)
	}
	second := attend(t, n.url, guests[1])
	second.joinAndLeave(t)
	second.joinAndLeave(t) // the address has spent its own
	second.refusedToJoin(t)
	if f := ask(t, attend(t, n.url, guests[2]).Player, protocol.TypeDuelJoin, protocol.DuelJoin{}); f.Type != protocol.TypeDuelQueued {
		t.Errorf("a player who has left nothing is refused: %s", f.Raw)
	}
	for rule, want := range map[string]int{"early_forfeits_per_hour_per_player": 1, "early_forfeits_per_hour_per_address": 1} {
		if got := metric(t, n.ops, "laststand_limit_refusals_total", rule); got != want {
			t.Errorf("%s refused %d, want %d", rule, got, want)
		}
	}
}

// Who has begun as many matches as a day has may begin no more, in an arena
// neither; an arena may still be watched.
func TestMatchesADayAreLimited(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := startNode(t, cli{Data: &dir, Config: configFile(t, "games: {demo: {duel: {countdown_ms: 0, time_limit_ms: 500}}}\nlimits: {matches_per_day_per_player: 2}")})
	c := attend(t, n.url, newGuests(t, []string{n.url}, 1)[0])
	for range 2 {
		ask(t, c.Player, protocol.TypeDuelJoin, soonBot())
		closed := await(t, c.Player, "the end of a question", func(f player.Frame) bool { return f.Type == protocol.TypeQuestionClosed })
		c.leaveMatch(t, closed.Match)
	}
	c.refusedToJoin(t)
	made := makeArena(t, n.url, newGuests(t, []string{n.url}, 1)[0].Token, protocol.NewArena{
		Mode: "survival", Name: "Late", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 1},
	})
	if f := ask(t, c.Player, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code}); f.Type != protocol.TypeError {
		t.Errorf("joining an arena was answered with %s", f.Raw)
	}
	if f := ask(t, c.Player, protocol.TypeArenaJoin, protocol.ArenaJoin{Code: made.Code, As: "spectator"}); f.Type != protocol.TypeArenaJoined {
		t.Errorf("watching was answered with %s", f.Raw)
	}
}

func soonBot() protocol.DuelJoin {
	soon := int64(1)
	return protocol.DuelJoin{BotAfterMS: &soon}
}

// joinAndLeave has a player begin a duel against a bot and leave it at once.
func (c *contestant) joinAndLeave(t *testing.T) (match string) {
	t.Helper()
	if f := ask(t, c.Player, protocol.TypeDuelJoin, soonBot()); f.Type != protocol.TypeDuelQueued {
		t.Fatalf("joining was answered with %s", f.Raw)
	}
	found := await(t, c.Player, "a duel", func(f player.Frame) bool { return f.Type == protocol.TypeMatchFound })
	c.leaveMatch(t, found.Match)
	return found.Match
}

// leaveMatch has a player leave a duel and wait for its end.
func (c *contestant) leaveMatch(t *testing.T, match string) {
	t.Helper()
	if _, err := c.Send(protocol.TypeMatchLeave, protocol.MatchLeave{Match: match}); err != nil {
		t.Fatal(err)
	}
	over := await(t, c.Player, "its end", func(f player.Frame) bool { return f.Type == protocol.TypeMatchOver })
	var told protocol.MatchOver
	if read(t, over, &told); told.Reason != "forfeit" || len(told.Standings) != 2 {
		t.Errorf("told %s", over.Raw)
	}
}

// refusedToJoin has a duel refused to a player, for a while.
func (c *contestant) refusedToJoin(t *testing.T) {
	t.Helper()
	f := ask(t, c.Player, protocol.TypeDuelJoin, soonBot())
	var e protocol.Error
	if read(t, f, &e); e.Code != protocol.CodeRateLimited || e.RetryAfterMS < 1000 || e.RetryAfterMS > 24*time.Hour.Milliseconds() {
		t.Errorf("joining was answered with %s", f.Raw)
	}
}
