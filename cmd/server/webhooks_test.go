package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"laststand/internal/hooks"
	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/player"
)

// hooked is a configuration of a game with webhooks, a list of YAML.
func hooked(zone, webhooks string) string {
	return fmt.Sprintf(`games:
  demo:
    time_zone: %s
    duel: {questions: 5, time_limit_ms: 60000, countdown_ms: 50, reveal_ms: 20, bot_after_ms: 0}
    arena: {time_limit_ms: 60000, countdown_ms: 100, reveal_ms: 50, team_lockout_ms: 0}
    leaderboards: {min_answers: 1}
    webhooks: [%s]
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0}
`, zone, webhooks)
}

// Two zones of which one is always a day ahead of the other.
const (
	earlyZone = "Etc/GMT+10"
	lateZone  = "Etc/GMT-14"
)

// Each settled match, ended arena and sealed day is told of to whom it is to be,
// with the same id, whichever node does it.
func TestWebhooksAreTold(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		e := newEars(t)
		endpoints := fmt.Sprintf(`
      {name: all, url: "%[1]s/all", secret_file: hook.key, allow_private: true},
      {name: matches, url: "%[1]s/matches", events: [match.settled], ordered: true, allow_private: true},
      {name: days, url: "%[1]s/days", events: [day.sealed], allow_private: true}`, e.URL)
		flags := cli{Config: configFile(t, hooked(earlyZone, endpoints)), Data: &db.Dir, Database: &db.URL}
		beside(t, flags.Config, "hook.key", oldWebhookKey)
		for _, name := range []string{"matches", "days"} {
			code, key, errs := command("webhooks", "show-key", "--game=demo", name, "--config="+flags.Config, "--data="+db.Dir, "--database="+db.URL)
			if code != 0 || checkWebhookKey(strings.TrimSpace(key)) != nil {
				t.Fatalf("%d %q %s", code, key, errs)
			}
			e.keys += "\n" + key
		}
		nodes := 1
		if db.URL != "" {
			url := listedRedis(t)
			flags.Redis, nodes = &url, 2
		}
		var urls []string
		var stops []func()
		for range nodes {
			n := startNode(t, flags)
			urls, stops = append(urls, n.url), append(stops, n.stop)
		}
		checkMatchesTold(t, e, playPairs(t, urls[0], 10))
		checkArenaTold(t, e, flags, urls)
		for _, stop := range stops {
			stop()
		}
		late := flags
		late.Config = configFile(t, hooked(lateZone, endpoints))
		beside(t, late.Config, "hook.key", oldWebhookKey)
		checkDayTold(t, e, late)
	})
}

// checkMatchesTold holds that each match was told of, as its players were told.
func checkMatchesTold(t *testing.T, e *ears, games []*transcript) {
	t.Helper()
	ids := map[string]string{}
	for _, m := range e.taken("all", hooks.MatchSettled, len(games)/2) {
		ids[m.said.Data.Match] = m.id
		if d := m.said.Data; d.Game != "demo" || !d.Counts || len(d.Standings) != 2 {
			t.Errorf("%s", m.body)
		}
	}
	for _, m := range e.taken("matches", hooks.MatchSettled, len(games)/2) {
		if ids[m.said.Data.Match] != m.id {
			t.Errorf("%s has the ids %s and %s", m.said.Data.Match, ids[m.said.Data.Match], m.id)
		}
		for i, s := range m.said.Data.Standings {
			over := overOf(games, m.said.Data.Match)
			if over == nil || over.Standings[i].Player != s.Player || over.Standings[i].Score != s.Score {
				t.Errorf("%s, the players were told %+v", m.body, over)
			}
		}
	}
}

func overOf(games []*transcript, match string) *protocol.MatchOver {
	for _, g := range games {
		if g.match == match {
			return &g.over
		}
	}
	return nil
}

// checkArenaTold plays an arena, whose end is told of besides its match.
func checkArenaTold(t *testing.T, e *ears, flags cli, urls []string) {
	t.Helper()
	token := mint(t, flags, "host", "quizmaster")
	made := makeArena(t, urls[0], token, protocol.NewArena{
		Mode: "buzzer", Name: "Friday", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 2},
		Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
	})
	host := seatOf(t, urls[0], player.Guest{ID: "quizmaster", Token: token}, protocol.ArenaJoin{Code: made.Code, As: "host"})
	all := []*contestant{host}
	for i, g := range newGuests(t, urls, 4) {
		c := seatOf(t, urls[i%len(urls)], g, protocol.ArenaJoin{Code: made.Code})
		c.solve, c.plan = newSolver(t), func(q int) (right, silent bool) { return i == q, false }
		all = append(all, c)
	}
	host.must(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID})
	playAll(t, all)
	over := e.taken("all", hooks.ArenaOver, 1)[0]
	settled := e.taken("all", hooks.MatchSettled, 11)[10]
	for _, m := range []told{over, settled} {
		if d := m.said.Data; d.ArenaID != made.ArenaID || d.Match != host.match || d.Counts || len(d.Standings) != 4 {
			t.Errorf("the match %s of arena %s, which is not ranked, is told of as %s", host.match, made.ArenaID, m.body)
		}
	}
	if over.id == settled.id {
		t.Error("two events share an id")
	}
}

// checkDayTold has the day end, at a node that comes later, and holds that its top
// lists are told of as the boards show them.
func checkDayTold(t *testing.T, e *ears, late cli) {
	t.Helper()
	if n := len(e.of("days", "")) + len(e.of("all", hooks.DaySealed)); n > 0 {
		t.Errorf("%d events came of the day that is not over", n)
	}
	n := startNode(t, late)
	sealed := e.taken("days", hooks.DaySealed, 1)[0]
	also := e.taken("all", hooks.DaySealed, 1)[0]
	if sealed.id != also.id || sealed.body != also.body {
		t.Errorf("%s %s\n%s %s", sealed.id, sealed.body, also.id, also.body)
	}
	var page struct {
		Total   int64
		Entries []leaderboard.Entry
	}
	eventually(t, "the boards are there", func() bool { // they may be building: they were in the process of the node before
		return get(t, n.url+"/v1/games/demo/leaderboards/day?limit=100&date="+sealed.said.Data.Date, &page) == http.StatusOK && len(page.Entries) == 20
	})
	board := sealed.said.Data.Boards[0]
	var entries []leaderboard.Entry
	if err := json.Unmarshal(board.Entries, &entries); err != nil || board.Kind != "player" || board.Order != "value" || board.Total != page.Total || len(entries) != 20 {
		t.Fatalf("%v, total %d: %s", err, page.Total, sealed.body)
	}
	for i, entry := range entries {
		if entry != page.Entries[i] {
			t.Errorf("entry %d is %+v, the board has %+v", i, entry, page.Entries[i])
		}
	}
}

// An endpoint that is busy is left alone for a while, and gets all in the end; one
// that is gone gets nothing until an operator says so.
func TestWebhooksThatRefuse(t *testing.T) {
	t.Parallel()
	e := newEars(t)
	e.say("busy", func(try int) int {
		if try < 3 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	e.say("gone", func(int) int { return http.StatusGone })
	h := newHouse(t, listedRedis(t), hooked("UTC", fmt.Sprintf(`
      {name: busy, url: "%[1]s/busy", secret_file: hook.key, events: [match.settled], allow_private: true},
      {name: gone, url: "%[1]s/gone", secret_file: hook.key, events: [match.settled], allow_private: true}`, e.URL)))
	beside(t, h.config, "hook.key", oldWebhookKey)
	n := h.node(t)
	run := commandsTo(t, n, append(ledgerOf(h.db), "--config="+h.config)...)
	playPairs(t, n.url, 3)
	for _, m := range e.taken("busy", hooks.MatchSettled, 3) {
		if m.tries != 3 {
			t.Errorf("%d tries of %s", m.tries, m.id)
		}
	}
	eventually(t, "the webhook is disabled", func() bool {
		out, _ := run(0, "webhooks", "list")
		return strings.Contains(out, "the endpoint answered 410 Gone")
	})
	refused := len(e.of("gone", ""))
	playPairs(t, n.url, 2)
	e.taken("busy", hooks.MatchSettled, 5)
	listed, _ := run(0, "tasks", "list", "--topic=webhook/demo/gone")
	dead := strings.Count(listed, "410 Gone") // those that were enqueued before it was disabled
	if dropped := metric(t, n.ops, "laststand_webhooks_drops_total", `endpoint="gone"`, `reason="disabled"`); dropped < 2 || dropped+dead != 5 || len(e.of("gone", "")) != refused {
		t.Errorf("of 5 events %d were counted as not told, %d are dead; %d came before and %d after\n%s", dropped, dead, refused, len(e.of("gone", "")), listed)
	}
	_, errs := run(1, "webhooks", "ping", "--game=demo", "gone")
	says(t, errs, "410")
	e.say("gone", nil)
	out, _ := run(0, "webhooks", "ping", "--game=demo", "gone")
	says(t, out, "accepted with 204")
	out, _ = run(0, "webhooks", "enable", "--game=demo", "gone")
	says(t, out, "gone")
	run(0, "tasks", "requeue", "--all", "--topic=webhook/demo/gone")
	e.taken("gone", hooks.MatchSettled, dead)
	run(0, "webhooks", "disable", "--game=demo", "--reason=it moves", "gone")
	out, _ = run(0, "webhooks", "list")
	says(t, out, "it moves")
	_, errs = run(1, "webhooks", "enable", "--game=demo", "other")
	says(t, errs, "other")
}

// What a node has in hand that dies, or that is stopped beyond its leases, is told
// by another; a stopped one that goes on changes nothing.
func TestWebhooksOfADeadNode(t *testing.T) {
	t.Parallel()
	e := newEars(t)
	e.say("slow", func(int) int { return http.StatusServiceUnavailable })
	h := newHouse(t, listedRedis(t), hooked("UTC", fmt.Sprintf(`
      {name: slow, url: "%[1]s/slow", secret_file: hook.key, events: [match.settled], allow_private: true}`, e.URL)))
	beside(t, h.config, "hook.key", oldWebhookKey)
	dying := h.process(t)
	playPairs(t, dying.url, 5)
	eventually(t, "some are tried", func() bool { return len(e.of("slow", "")) > 0 })
	dying.signal(syscall.SIGKILL)
	dying.wait(t)
	e.say("slow", nil)
	h.node(t)
	e.taken("slow", hooks.MatchSettled, 5)
}
