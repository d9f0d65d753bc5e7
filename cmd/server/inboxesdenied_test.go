package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// Redis denies each node to publish to other inboxes than its own, which the nodes do not
// notice. Players still get every push, some later, because the nodes read the log. They also
// get the notification of their settled result, once.
func TestPlayersGetEveryPushWithoutNodeInboxes(t *testing.T) {
	t.Parallel()
	cluster := newTestCluster(t, "", slowDuels("demo"))
	first, second := cluster.nodesWithoutInboxes(t)
	duel := startDuel(t, first.url, second.url, "demo")
	for range 4 {
		duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
		for i, c := range duel {
			other := duel[1-i]
			c.submitAndRead(t, true)
			sentAt := time.Now()
			seen := other.readUntil(t, "the other's answer", func(f checker.Frame) bool { return isAnswerSeen(f, c.id) })
			t.Logf("seen at the other node after %s", seen.ReceivedAt.Sub(sentAt))
			if delay := seen.ReceivedAt.Sub(sentAt); delay > maxLatenessOnBusyMachine {
				t.Errorf("an answer was seen at the other node after %s", delay)
			}
		}
		duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestionClosed) })
	}
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeMatchOver) })
	checkSamePushes(t, duel[:]...)
	checkSettledOnce(t, first.url, "demo", duel[0].over)
	waitUntil(t, "both players got the settled push", func() bool {
		duel.each(func(c *matchClient) { c.request(t, protocol.TypePing, protocol.Ping{At: json.RawMessage("1")}) })
		return duel[0].settled != nil && duel[1].settled != nil
	})
	for _, c := range duel {
		var profile struct{ Rating int }
		get(t, first.url+"/v1/games/demo/players/"+c.id, &profile)
		if rating := c.settled.Rating; rating == nil || *rating != profile.Rating {
			t.Errorf("%s got %+v; the profile has the rating %d", c.id, c.settled, profile.Rating)
		}
	}
	if sumMetric(t, first.opsURL, "laststand_match_push_gaps_total")+sumMetric(t, second.opsURL, "laststand_match_push_gaps_total") == 0 {
		t.Error("no node read pushes from the log; check that Redis denies the inboxes of other nodes")
	}
}

func isAnswerSeen(f checker.Frame, id string) bool {
	var seen protocol.AnswerSeen
	return f.Type == protocol.TypeAnswerSeen && json.Unmarshal(f.Data, &seen) == nil && seen.Player == id
}

// nodesWithoutInboxes starts two nodes. Redis denies them messages to each other.
func (c testCluster) nodesWithoutInboxes(t *testing.T) (first, second *testNode) {
	t.Helper()
	server := testenv.Redis(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { admin.Close() })
	setACL := func(user string, rules ...any) {
		testenv.NoError(t, admin.Do(t.Context(), append([]any{"ACL", "SETUSER", user}, rules...)...).Err())
	}
	var inboxes []string
	start := func(user string) *testNode {
		setACL(user, "on", ">secret", "~*", "&*", "+@all")
		c.redis = strings.Replace(server.URL, "redis://", "redis://"+user+":secret@", 1)
		node := c.node(t)
		waitUntil(t, "the node's inbox is subscribed", func() bool {
			channels := admin.PubSubChannels(t.Context(), "inbox:*").Val()
			if len(channels) == len(inboxes) {
				return false
			}
			ownInbox := slices.DeleteFunc(slices.Clone(channels), func(name string) bool { return slices.Contains(inboxes, name) })
			setACL(user, "resetchannels", "&"+ownInbox[0])
			inboxes = channels
			return true
		})
		return node
	}
	return start("one"), start("two")
}
