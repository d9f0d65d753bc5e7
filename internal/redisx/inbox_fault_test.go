package redisx_test

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

func TestInboxRecoversAfterARestart(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	conn := testenv.OpenRedis(t, server.URL)
	sender, receiver := newTestInbox(t, conn), newTestInbox(t, conn)
	receiver.awaitMessage(t, sender)
	server.Kill()
	waitUntil(t, "the inbox is not subscribed", func() bool { return receiver.Ready(t.Context()) != nil })
	sender.Send(t.Context(), []string{receiver.node}, "word", nil)
	if failed := metricSum(t, sender.registry, "laststand_inbox_messages_sent_total", "outcome", "failed"); failed != 1 {
		t.Errorf("%v messages failed, want 1", failed)
	}
	server.Restart()
	waitUntil(t, "the inbox is subscribed again", func() bool { return receiver.Ready(t.Context()) == nil })
	waitUntil(t, "HandleMissed is called", func() bool { return receiver.missedCount() == 2 })
	receiver.awaitMessage(t, sender)
	if lost := metricSum(t, receiver.registry, "laststand_inbox_subscription_losses_total", "", ""); lost != 1 {
		t.Errorf("%v losses of the subscription are counted, want 1", lost)
	}
}

// If a connection is open but brings no messages, the inbox counts as not subscribed.
func TestInboxNoticesAStalledServer(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	inbox := newTestInbox(t, testenv.OpenRedis(t, server.URL))
	server.Pause()
	waitUntil(t, "the inbox is not subscribed", func() bool { return inbox.Ready(t.Context()) != nil })
	server.Resume()
	waitUntil(t, "the inbox is subscribed again", func() bool { return inbox.Ready(t.Context()) == nil })
	waitUntil(t, "HandleMissed is called", func() bool { return inbox.missedCount() == 2 })
}

// An inbox stays subscribed without messages of other nodes, because it sends messages to
// itself.
func TestInboxWithoutMessagesStaysSubscribed(t *testing.T) {
	t.Parallel()
	conn := testenv.OpenRedis(t, testenv.Redis(t).URL)
	inbox := newTestInbox(t, conn)
	waitUntil(t, "the inbox has sent itself five messages", func() bool { return commandCalls(t, conn.Client, "publish") >= 5 })
	if lost := metricSum(t, inbox.registry, "laststand_inbox_subscription_losses_total", "", ""); lost != 0 || inbox.missedCount() != 1 {
		t.Errorf("lost the subscription %v times, called HandleMissed %d times", lost, inbox.missedCount())
	}
}

// A slot that moves ends its subscriptions with a message that is easy to miss.
func TestInboxFollowsAMovedSlot(t *testing.T) {
	t.Parallel()
	conn := testenv.OpenRedis(t, testenv.Cluster(t))
	sender, receiver := newTestInbox(t, conn), newTestInbox(t, conn)
	channel := "inbox:" + receiver.node
	cluster := conn.Client.(*redis.ClusterClient)
	owner, other := ownerAndOther(t, cluster, channel)
	for i, target := range []*redis.Client{other, owner} {
		moveSlot(t, target, channel, owner, other)
		waitUntil(t, "HandleMissed is called", func() bool { return receiver.missedCount() == i+2 })
		receiver.awaitMessage(t, sender)
		if n := target.PubSubShardNumSub(t.Context(), channel).Val()[channel]; n != 1 {
			t.Errorf("%d subscriptions at its master", n)
		}
	}
}

func TestConnAndInboxFollowAFailover(t *testing.T) {
	t.Parallel()
	nodes := testenv.StartCluster(t, 3, 3)
	conn := testenv.OpenRedis(t, nodes.URL)
	if !conn.HasReplicas() {
		t.Error("HasReplicas is false")
	}
	sender, receiver := newTestInbox(t, conn), newTestInbox(t, conn)
	receiver.awaitMessage(t, sender)
	channel := "inbox:" + receiver.node
	master, err := conn.Client.(*redis.ClusterClient).MasterForKey(t.Context(), channel)
	if err != nil {
		t.Fatal(err)
	}
	masterIndex := slices.IndexFunc(nodes.Masters, func(s *testenv.Server) bool { return s.Addr == master.Options().Addr })
	set := redis.NewScript("return redis.call('SET', KEYS[1], 1)")
	for name, client := range clients(conn) { // so that each client knows the old master
		if err := set.Run(t.Context(), client, []string{"{" + channel + "}"}).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	nodes.Masters[masterIndex].Kill()
	for name, client := range clients(conn) {
		waitUntil(t, "the client "+name+" uses the new master", func() bool {
			return set.Run(t.Context(), client, []string{"{" + channel + "}"}).Err() == nil
		})
	}
	receiver.awaitMessage(t, sender)
	if receiver.missedCount() < 2 {
		t.Error("HandleMissed was not called")
	}
}
