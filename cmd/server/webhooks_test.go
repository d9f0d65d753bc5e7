package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"laststand/internal/cli"
	"laststand/internal/leaderboard"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/internal/webhook"
	player "laststand/loadtest/players"
)

// webhookConfigText returns the configuration of a game. webhooks is the content of a YAML list.
func webhookConfigText(zone, webhooks string) string {
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
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		receiver := newWebhookReceiver(t)
		endpoints := fmt.Sprintf(`
      {name: all, url: "%[1]s/all", secret_file: hook.key, allow_private: true},
      {name: matches, url: "%[1]s/matches", events: [match.settled], ordered: true, allow_private: true},
      {name: days, url: "%[1]s/days", events: [day.sealed], allow_private: true}`, receiver.URL)
		flags := cli.Flags{Config: configFile(t, webhookConfigText(earlyZone, endpoints)), Data: &db.Dir, Database: &db.URL}
		testenv.WriteBeside(t, flags.Config, "hook.key", testenv.OldWebhookKey)
		createDatabase(t, db)
		for _, name := range []string{"matches", "days"} {
			code, key, stderr := command("webhooks", "show-key", "--game=demo", name, "--config="+flags.Config, "--data="+db.Dir, "--database="+db.URL)
			if code != 0 || !isWebhookKey(key) {
				t.Fatalf("%d %q %s", code, key, stderr)
			}
			receiver.keys += "\n" + key
		}
		nodes := 1
		if db.URL != "" {
			url := redisWithDocumentedKeys(t)
			flags.Redis, nodes = &url, 2
		}
		var running []*testNode
		for range nodes {
			running = append(running, startNode(t, flags))
		}
		checkMatchesSent(t, receiver, playDuels(t, running[0].url, 10))
		checkArenaSent(t, receiver, running)
		for _, node := range running {
			node.stop()
		}
		lateFlags := flags
		lateFlags.Config = configFile(t, webhookConfigText(lateZone, endpoints))
		testenv.WriteBeside(t, lateFlags.Config, "hook.key", testenv.OldWebhookKey)
		checkDaySent(t, receiver, lateFlags)
	})
}

// checkMatchesSent checks that each match was sent with the standings that its players got.
func checkMatchesSent(t *testing.T, receiver *webhookReceiver, players []*matchClient) {
	t.Helper()
	ids := map[string]string{}
	for _, event := range receiver.waitForAccepted("all", webhook.MatchSettled, len(players)/2) {
		ids[event.payload.Data.Match] = event.id
		if data := event.payload.Data; data.Game != "demo" || !data.Counts || len(data.Standings) != 2 {
			t.Errorf("%s", event.body)
		}
	}
	for _, event := range receiver.waitForAccepted("matches", webhook.MatchSettled, len(players)/2) {
		if ids[event.payload.Data.Match] != event.id {
			t.Errorf("%s has the ids %s and %s", event.payload.Data.Match, ids[event.payload.Data.Match], event.id)
		}
		for i, s := range event.payload.Data.Standings {
			over := findMatchOver(players, event.payload.Data.Match)
			if over == nil || over.Standings[i].Player != s.Player || over.Standings[i].Score != s.Score {
				t.Errorf("%s; the players got %+v", event.body, over)
			}
		}
	}
}

func findMatchOver(players []*matchClient, match string) *protocol.MatchOver {
	for _, c := range players {
		if c.match == match {
			return c.over
		}
	}
	return nil
}

// checkArenaSent plays an arena, whose end is an event besides the event of its match.
func checkArenaSent(t *testing.T, receiver *webhookReceiver, nodes []*testNode) {
	t.Helper()
	token, url := nodes[0].token(t, "host", "quizmaster"), nodes[0].url
	created := createArena(t, url, token, protocol.NewArena{
		Mode: "buzzer", Name: "Friday", Pace: "auto", Questions: protocol.ArenaQuestions{Count: 2},
		Teams: []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "blue", Name: "Blue"}},
	})
	host := joinArena(t, url, player.Guest{ID: "quizmaster", Token: token}, protocol.ArenaJoin{Code: created.Code, As: "host"})
	clients := []*matchClient{host}
	for i, g := range newGuests(t, []string{url}, 4) {
		c := joinArena(t, nodes[i%len(nodes)].url, g, protocol.ArenaJoin{Code: created.Code})
		c.key, c.plan = newAnswerKey(t), func(q int) (right, silent bool) { return i == q, false }
		clients = append(clients, c)
	}
	host.mustRequest(t, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: created.ArenaID})
	playAll(t, clients)
	over := receiver.waitForAccepted("all", webhook.ArenaOver, 1)[0]
	settled := receiver.waitForAccepted("all", webhook.MatchSettled, 11)[10]
	for _, event := range []webhookEvent{over, settled} {
		if data := event.payload.Data; data.ArenaID != created.ArenaID || data.Match != host.match || data.Counts || len(data.Standings) != 4 {
			t.Errorf("the event of match %s in the unranked arena %s is %s", host.match, created.ArenaID, event.body)
		}
	}
	if over.id == settled.id {
		t.Error("two events share an id")
	}
}

// checkDaySent starts a node in whose time zone the day is over. Its event must have the top lists that the
// leaderboards show.
func checkDaySent(t *testing.T, receiver *webhookReceiver, lateFlags cli.Flags) {
	t.Helper()
	if node := len(receiver.received("days", "")) + len(receiver.received("all", webhook.DaySealed)); node > 0 {
		t.Errorf("%d events of a day that is not over arrived", node)
	}
	node := startNode(t, lateFlags)
	sealed := receiver.waitForAccepted("days", webhook.DaySealed, 1)[0]
	other := receiver.waitForAccepted("all", webhook.DaySealed, 1)[0]
	if sealed.id != other.id || sealed.body != other.body {
		t.Errorf("%s %s\n%s %s", sealed.id, sealed.body, other.id, other.body)
	}
	var page struct {
		Total   int64
		Entries []leaderboard.Entry
	}
	waitUntil(t, "the leaderboards are rebuilt", func() bool { // they may be building, because the embedded Redis of the node before is gone
		return get(t, node.url+"/v1/games/demo/leaderboards/day?limit=100&date="+sealed.payload.Data.Date, &page) == http.StatusOK && len(page.Entries) == 20
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
	receiver := newWebhookReceiver(t)
	receiver.respond("busy", func(try int) int {
		if try < 3 {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	receiver.respond("gone", func(int) int { return http.StatusGone })
	cluster := newTestCluster(t, redisWithDocumentedKeys(t), webhookConfigText("UTC", fmt.Sprintf(`
      {name: busy, url: "%[1]s/busy", secret_file: hook.key, events: [match.settled], allow_private: true},
      {name: gone, url: "%[1]s/gone", secret_file: hook.key, events: [match.settled], allow_private: true}`, receiver.URL)))
	testenv.WriteBeside(t, cluster.config, "hook.key", testenv.OldWebhookKey)
	node := cluster.node(t)
	playDuels(t, node.url, 3)
	for _, event := range receiver.waitForAccepted("busy", webhook.MatchSettled, 3) {
		if event.tries != 3 {
			t.Errorf("%d tries of %s", event.tries, event.id)
		}
	}
	waitUntil(t, "the webhook is disabled", func() bool {
		return strings.Contains(node.run(t, 0, "webhooks", "list"), "the endpoint answered 410 Gone")
	})
	refused := len(receiver.received("gone", ""))
	playDuels(t, node.url, 2)
	receiver.waitForAccepted("busy", webhook.MatchSettled, 5)
	listed := node.run(t, 0, "tasks", "list", "--topic=webhook/demo/gone")
	deadLetters := strings.Count(listed, "410 Gone") // the events that were enqueued before the endpoint was disabled
	if dropped := sumMetric(t, node.opsURL, "laststand_webhooks_drops_total", `endpoint="gone"`, `reason="disabled"`); dropped < 2 || dropped+deadLetters != 5 || len(receiver.received("gone", "")) != refused {
		t.Errorf("of 5 events %d were dropped, %d are dead; %d arrived before and %d after\n%s", dropped, deadLetters, refused, len(receiver.received("gone", "")), listed)
	}
	checkContains(t, node.run(t, 1, "webhooks", "ping", "--game=demo", "gone"), "410")
	receiver.respond("gone", nil)
	checkContains(t, node.run(t, 0, "webhooks", "ping", "--game=demo", "gone"), "accepted with 204")
	checkContains(t, node.run(t, 0, "webhooks", "enable", "--game=demo", "gone"), "gone")
	node.run(t, 0, "tasks", "requeue", "--all", "--topic=webhook/demo/gone")
	receiver.waitForAccepted("gone", webhook.MatchSettled, deadLetters)
	node.run(t, 0, "webhooks", "disable", "--game=demo", "--reason=it moves", "gone")
	checkContains(t, node.run(t, 0, "webhooks", "list"), "PENDING", "LAST ACCEPTED", "it moves")
	checkContains(t, node.run(t, 1, "webhooks", "enable", "--game=demo", "other"), "other")
}

// If a node dies or is suspended for longer than its leases, another node sends its events. A suspended
// node that continues changes nothing.
func TestEventsOfADeadNodeAreSentByAnotherNode(t *testing.T) {
	t.Parallel()
	receiver := newWebhookReceiver(t)
	receiver.respond("slow", func(int) int { return http.StatusServiceUnavailable })
	cluster := newTestCluster(t, redisWithDocumentedKeys(t), webhookConfigText("UTC", fmt.Sprintf(`
      {name: slow, url: "%[1]s/slow", secret_file: hook.key, events: [match.settled], allow_private: true}`, receiver.URL)))
	testenv.WriteBeside(t, cluster.config, "hook.key", testenv.OldWebhookKey)
	dying := cluster.process(t)
	playDuels(t, dying.url, 5)
	waitUntil(t, "some events were tried", func() bool { return len(receiver.received("slow", "")) > 0 })
	dying.signal(syscall.SIGKILL)
	dying.wait(t)
	receiver.respond("slow", nil)
	cluster.node(t)
	receiver.waitForAccepted("slow", webhook.MatchSettled, 5)
}
