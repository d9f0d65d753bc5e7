package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/internal/webhook"
	player "laststand/loadtest/client"
)

// webhookConfigText returns the configuration of a game. webhooks is the content of a YAML list.
func webhookGame(zone, webhooks string) string {
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

// Two time zones. The date in one is always a day after the date in the other.
const (
	earlyZone = "Etc/GMT+10"
	lateZone  = "Etc/GMT-14"
)

// Each settled match, ended arena and sealed day is sent to the subscribed endpoints. The id is
// the same, whichever node sends it.
func TestEventsAreSentToSubscribedWebhooks(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		e := newWebhookReceiver(t)
		endpoints := fmt.Sprintf(`
      {name: all, url: "%[1]s/all", secret_file: hook.key, allow_private: true},
      {name: matches, url: "%[1]s/matches", events: [match.settled], ordered: true, allow_private: true},
      {name: days, url: "%[1]s/days", events: [day.sealed], allow_private: true}`, e.URL)
		flags := cli{Config: configFile(t, webhookGame(earlyZone, endpoints)), Data: &db.Dir, Database: &db.URL}
		writeBeside(t, flags.Config, "hook.key", oldWebhookKey)
		for _, name := range []string{"matches", "days"} {
			code, key, stderr := command("webhooks", "show-key", "--game=demo", name, "--config="+flags.Config, "--data="+db.Dir, "--database="+db.URL)
			if code != 0 || checkWebhookKey(strings.TrimSpace(key)) != nil {
				t.Fatalf("%d %q %s", code, key, stderr)
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
		checkMatchesSent(t, e, playDuels(t, urls[0], 10))
		checkArenaSent(t, e, flags, urls)
		for _, stop := range stops {
			stop()
		}
		late := flags
		late.Config = configFile(t, webhookGame(lateZone, endpoints))
		writeBeside(t, late.Config, "hook.key", oldWebhookKey)
		checkDaySent(t, e, late)
	})
}

// checkMatchesSent checks that each match was sent with the standings that its players got.
func checkMatchesSent(t *testing.T, e *webhookReceiver, games []*duelTranscript) {
	t.Helper()
	ids := map[string]string{}
	for _, m := range e.waitForAccepted("all", webhook.MatchSettled, len(games)/2) {
		ids[m.payload.Data.Match] = m.id
		if d := m.payload.Data; d.Game != "demo" || !d.Counts || len(d.Standings) != 2 {
			t.Errorf("%s", m.body)
		}
	}
	for _, m := range e.waitForAccepted("matches", webhook.MatchSettled, len(games)/2) {
		if ids[m.payload.Data.Match] != m.id {
			t.Errorf("%s has the ids %s and %s", m.payload.Data.Match, ids[m.payload.Data.Match], m.id)
		}
		for i, s := range m.payload.Data.Standings {
			over := findMatchOver(games, m.payload.Data.Match)
			if over == nil || over.Standings[i].Player != s.Player || over.Standings[i].Score != s.Score {
				t.Errorf("%s; the players got %+v", m.body, over)
			}
		}
	}
}

func findMatchOver(games []*duelTranscript, match string) *protocol.MatchOver {
	for _, g := range games {
		if g.match == match {
			return &g.over
		}
	}
	return nil
}

// checkArenaSent plays an arena, whose end is an event besides the event of its match.
func checkArenaSent(t *testing.T, e *webhookReceiver, flags cli, urls []string) {
	t.Helper()
	token := mintToken(t, flags, "host", "quizmaster")
	made := createArena(t, urls[0], token, protocol.NewArena{
		Mode: "buzzer", Name: "Friday", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 2},
		Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
	})
	host := joinArena(t, urls[0], player.Guest{ID: "quizmaster", Token: token}, protocol.ArenaJoin{Code: made.Code, As: "host"})
	all := []*matchClient{host}
	for i, g := range newGuests(t, urls, 4) {
		c := joinArena(t, urls[i%len(urls)], g, protocol.ArenaJoin{Code: made.Code})
		c.key, c.plan = newAnswerKey(t), func(q int) (right, silent bool) { return i == q, false }
		all = append(all, c)
	}
	host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: made.ArenaID})
	playAll(t, all)
	over := e.waitForAccepted("all", webhook.ArenaOver, 1)[0]
	settled := e.waitForAccepted("all", webhook.MatchSettled, 11)[10]
	for _, m := range []webhookEvent{over, settled} {
		if d := m.payload.Data; d.ArenaID != made.ArenaID || d.Match != host.match || d.Counts || len(d.Standings) != 4 {
			t.Errorf("the event of match %s in the unranked arena %s is %s", host.match, made.ArenaID, m.body)
		}
	}
	if over.id == settled.id {
		t.Error("two events share an id")
	}
}

// checkDaySent starts a node in whose time zone the day is over. Its event must have the top lists that the
// leaderboards show.
func checkDaySent(t *testing.T, e *webhookReceiver, late cli) {
	t.Helper()
	if n := len(e.received("days", "")) + len(e.received("all", webhook.DaySealed)); n > 0 {
		t.Errorf("%d events of a day that is not over arrived", n)
	}
	n := startNode(t, late)
	sealed := e.waitForAccepted("days", webhook.DaySealed, 1)[0]
	also := e.waitForAccepted("all", webhook.DaySealed, 1)[0]
	if sealed.id != also.id || sealed.body != also.body {
		t.Errorf("%s %s\n%s %s", sealed.id, sealed.body, also.id, also.body)
	}
	var page struct {
		Total   int64
		Entries []leaderboard.Entry
	}
	waitUntil(t, "the leaderboards are rebuilt", func() bool { // they may be building, because the embedded Redis of the node before is gone
		return get(t, n.url+"/v1/games/demo/leaderboards/day?limit=100&date="+sealed.payload.Data.Date, &page) == http.StatusOK && len(page.Entries) == 20
	})
	board := sealed.payload.Data.Boards[0]
	var entries []leaderboard.Entry
	if err := json.Unmarshal(board.Entries, &entries); err != nil || board.Kind != "player" || board.Order != "value" || board.Total != page.Total || len(entries) != 20 {
		t.Fatalf("%v, total %d: %s", err, page.Total, sealed.body)
	}
	for i, entry := range entries {
		if entry != page.Entries[i] {
			t.Errorf("entry %d is %+v, the leaderboard has %+v", i, entry, page.Entries[i])
		}
	}
}

// A busy endpoint gets no events for a while, and all of them in the end. An endpoint that is
// gone gets none until an operator enables it.
func TestRefusedWebhookEventsAreRetriedOrStopped(t *testing.T) {
	t.Parallel()
	e := newWebhookReceiver(t)
	e.respond("busy", func(try int) int {
		if try < 3 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	e.respond("gone", func(int) int { return http.StatusGone })
	h := newTestCluster(t, listedRedis(t), webhookGame("UTC", fmt.Sprintf(`
      {name: busy, url: "%[1]s/busy", secret_file: hook.key, events: [match.settled], allow_private: true},
      {name: gone, url: "%[1]s/gone", secret_file: hook.key, events: [match.settled], allow_private: true}`, e.URL)))
	writeBeside(t, h.config, "hook.key", oldWebhookKey)
	n := h.node(t)
	command := commandRunner(t, n, append(ledgerFlags(h.db), "--config="+h.config)...)
	playDuels(t, n.url, 3)
	for _, m := range e.waitForAccepted("busy", webhook.MatchSettled, 3) {
		if m.tries != 3 {
			t.Errorf("%d tries of %s", m.tries, m.id)
		}
	}
	waitUntil(t, "the webhook is disabled", func() bool {
		out, _ := command(0, "webhooks", "list")
		return strings.Contains(out, "the endpoint answered 410 Gone")
	})
	refused := len(e.received("gone", ""))
	playDuels(t, n.url, 2)
	e.waitForAccepted("busy", webhook.MatchSettled, 5)
	listed, _ := command(0, "tasks", "list", "--topic=webhook/demo/gone")
	dead := strings.Count(listed, "410 Gone") // the events that were enqueued before the endpoint was disabled
	if dropped := sumMetric(t, n.opsURL, "laststand_webhooks_drops_total", `endpoint="gone"`, `reason="disabled"`); dropped < 2 || dropped+dead != 5 || len(e.received("gone", "")) != refused {
		t.Errorf("of 5 events %d were dropped, %d are dead; %d arrived before and %d after\n%s", dropped, dead, refused, len(e.received("gone", "")), listed)
	}
	_, stderr := command(1, "webhooks", "ping", "--game=demo", "gone")
	checkMessage(t, stderr, "410")
	e.respond("gone", nil)
	out, _ := command(0, "webhooks", "ping", "--game=demo", "gone")
	checkMessage(t, out, "accepted with 204")
	out, _ = command(0, "webhooks", "enable", "--game=demo", "gone")
	checkMessage(t, out, "gone")
	command(0, "tasks", "requeue", "--all", "--topic=webhook/demo/gone")
	e.waitForAccepted("gone", webhook.MatchSettled, dead)
	command(0, "webhooks", "disable", "--game=demo", "--reason=it moves", "gone")
	out, _ = command(0, "webhooks", "list")
	checkMessage(t, out, "it moves")
	_, stderr = command(1, "webhooks", "enable", "--game=demo", "other")
	checkMessage(t, stderr, "other")
}

// If a node dies or is suspended for longer than its leases, another node sends its events. A suspended
// node that continues changes nothing.
func TestEventsOfADeadNodeAreSentByAnotherNode(t *testing.T) {
	t.Parallel()
	e := newWebhookReceiver(t)
	e.respond("slow", func(int) int { return http.StatusServiceUnavailable })
	h := newTestCluster(t, listedRedis(t), webhookGame("UTC", fmt.Sprintf(`
      {name: slow, url: "%[1]s/slow", secret_file: hook.key, events: [match.settled], allow_private: true}`, e.URL)))
	writeBeside(t, h.config, "hook.key", oldWebhookKey)
	dying := h.process(t)
	playDuels(t, dying.url, 5)
	waitUntil(t, "some events were tried", func() bool { return len(e.received("slow", "")) > 0 })
	dying.signal(syscall.SIGKILL)
	dying.wait(t)
	e.respond("slow", nil)
	h.node(t)
	e.waitForAccepted("slow", webhook.MatchSettled, 5)
}
