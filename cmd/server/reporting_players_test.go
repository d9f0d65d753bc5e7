package main

import (
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"laststand/internal/eventq"
	"laststand/internal/protocol"
	player "laststand/loadtest/client"
	"laststand/loadtest/nppa"
)

// Players of two nodes connect, play a match and disconnect. A game reports the configured
// kinds.
func TestBehavioursOfPlayersAreReported(t *testing.T) {
	t.Parallel()
	r := newReportingTest(t, listedRedis(t), map[string]string{
		"all": fastReporting, "ends": fastReporting + ", report: [match_end]", "silent": fastReporting + ", report: []",
	})
	first, second := r.node(t), r.node(t)
	played := map[string]duelPair{}
	for _, game := range r.games {
		d := pairUp(t, newDuelClient(t, first.url, game), newDuelClient(t, second.url, game)).waitForMatch(t)
		d.each(func(c *matchClient) {
			c.readUntilPush(t, protocol.TypeQuestion)
			q := c.asked[0]
			id, _ := c.Send(protocol.TypeAnswer, protocol.Answer{Match: c.match, Question: &q.Question, Given: player.ArbitraryAnswer(q)})
			c.sent[id] = q.Question
		})
		d.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeMatchOver) })
		played[game] = d
	}
	came := func(game string, count int) {
		waitUntil(t, "the receiver got the expected number of behaviours of "+game, func() bool {
			online, _ := r.itemsByOutcome(game)
			return len(online) == count
		})
	}
	came("all", 6) // a player who leaves before the server sends the end has no match_end
	came("ends", 2)
	for _, d := range played {
		d.each(func(c *matchClient) { _ = c.Close() })
	}
	came("all", 8)
	for game, kinds := range map[string][]string{
		"all":  {eventq.Online, eventq.MatchStart, eventq.MatchEnd, eventq.Offline},
		"ends": {eventq.MatchEnd},
	} {
		all, _ := r.itemsByOutcome(game)
		played[game].each(func(c *matchClient) { checkStay(t, c, kinds, all) })
	}
	if c := r.waitUntilIdle("silent"); c.Offered != 0 || len(r.batchesOf("silent")) > 0 {
		t.Errorf("a game that reports nothing: %+v", c)
	}
}

// checkSessionBehaviours checks that a guest's session was reported with these kinds, in order, with one
// session, one device and the match.
func checkStay(t *testing.T, c *matchClient, kinds []string, all []eventq.Behaviour) {
	t.Helper()
	var stay []eventq.Behaviour
	var came []string
	for _, b := range all {
		if b.Player == c.id {
			stay, came = append(stay, b), append(came, b.Type)
		}
	}
	if !slices.Equal(came, kinds) {
		t.Fatalf("%s was reported with %q, want %q", c.id, came, kinds)
	}
	for _, b := range stay {
		if b.Session != stay[0].Session || len(b.Session) != 32 || b.Device != stay[0].Device || len(b.Device) != 32 || b.Account != eventq.Guest || b.PI != "" || b.At < stay[0].At {
			t.Errorf("behaviour %+v does not fit to the first one, %+v", b, stay[0])
		}
		var data struct{ Match string }
		if b.Type != eventq.Online && b.Type != eventq.Offline && (json.Unmarshal(b.Data, &data) != nil || data.Match != c.match) {
			t.Errorf("%s: %s; the match is %s", b.Type, b.Data, c.match)
		}
	}
}

// A guest and a verified player connect and disconnect, and the NPPA's interface accepts both.
func TestOnlineAndOfflineAreReportedToTheNPPA(t *testing.T) {
	t.Parallel()
	fake := nppa.New(nppa.Options{AppID: "app", BizIDs: []string{"biz"}, Keys: []string{nppaKey}, PerSecond: 10})
	fakeURL := httptest.NewServer(fake)
	defer fakeURL.Close()
	path := configFile(t, "games: {demo: {behaviours: {batch: {flush_interval: 50ms}, sink: {type: nppa, app_id: app, biz_id: biz, secret_file: nppa.key, allow_private: true, url: '"+
		fakeURL.URL+nppa.ProductionPath+"'}}}}")
	writeBeside(t, path, "nppa.key", nppaKey)
	dir := t.TempDir()
	n := startNode(t, cli{Data: &dir, Config: path})
	code, token, stderr := command("token", "--data="+dir, "--config="+path, "--game=demo", "--role=player", "--sub=p_42", "--pi="+pi)
	if code != 0 {
		t.Fatal(stderr)
	}
	guest := newPlayer(t, n.url)
	verified := connect(t, n.url, player.Guest{Token: strings.TrimSpace(token)})
	for _, p := range []*player.Player{guest, verified} {
		_ = p.Close()
	}
	var records []nppa.Record
	waitUntil(t, "both have come and gone", func() bool {
		for _, report := range fake.TakeReports() {
			records = append(records, report.Items...)
		}
		return len(records) >= 4
	})
	bySession := map[string][]nppa.Record{}
	for _, one := range records {
		bySession[one.SI] = append(bySession[one.SI], one)
	}
	kinds := map[int]int{}
	for session, stay := range bySession {
		if len(stay) != 2 || stay[0].BT != 1 || stay[1].BT != 0 || stay[0].CT != stay[1].CT || stay[0].OT > stay[1].OT {
			t.Fatalf("%s: %+v", session, stay)
		}
		kinds[stay[0].CT]++
		for _, one := range stay {
			if one.CT == 0 && (one.PI != pi || one.DI != "") || one.CT == 2 && (one.PI != "" || one.DI == "") {
				t.Errorf("%+v", one)
			}
		}
	}
	if kinds[0] != 1 || kinds[2] != 1 || len(fake.AnswerCounts()) != 1 || fake.AnswerCounts()[0] == 0 {
		t.Errorf("%+v, answered with %v", records, fake.AnswerCounts())
	}
}
