package main

import (
	"context"
	"slices"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/redisx"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// notifiedNode is a node that sends and receives task notifications.
type notifiedNode struct {
	*taskqueue.Notifier
	signal    <-chan struct{} // for a worker of the kind work
	runs      []func(context.Context) error
	listening func() bool
}

func newNotifiedNode() *notifiedNode {
	n := &notifiedNode{Notifier: taskqueue.NewNotifier(prometheus.NewRegistry())}
	n.signal = n.Subscribe("work")
	n.runs = append(n.runs, n.Run)
	return n
}

// hasSignal reports whether the worker was notified since the last call.
func (n *notifiedNode) hasSignal() bool {
	select {
	case <-n.signal:
		return true
	default:
		return false
	}
}

// checkNotified runs nodes until the test ends. A notification at one node must wake the
// workers of the others.
func checkNotified(t *testing.T, nodes ...*notifiedNode) {
	t.Helper()
	for _, node := range nodes {
		stopTasks := startTasks(discardLog(), node.runs...)
		t.Cleanup(stopTasks)
		waitUntil(t, "the node listens", node.listening)
	}
	for i, sender := range nodes {
		sender.Notify("work/a")
		if !sender.hasSignal() {
			t.Error("the node's own workers are not woken")
		}
		for _, receiver := range slices.Delete(slices.Clone(nodes), i, i+1) {
			waitUntil(t, "the other node's workers are woken", receiver.hasSignal)
		}
	}
}

func TestTaskNotificationsReachAllNodesThroughInboxes(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	ids := []string{ulid.Make().String(), ulid.Make().String()}
	var nodes []*notifiedNode
	for _, id := range ids {
		conn, err := redisx.Open(t.Context(), redisx.Config{URL: server.URL, Registry: prometheus.NewRegistry(), Logger: discardLog()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		node := newNotifiedNode()
		inbox := redisx.NewInbox(conn, redisx.InboxConfig{Node: id})
		connectTaskNotifier(node.Notifier, inbox, func() []string { return ids })
		node.runs = append(node.runs, inbox.Run)
		node.listening = func() bool { return inbox.Ready(t.Context()) == nil }
		nodes = append(nodes, node)
	}
	checkNotified(t, nodes...)
}
