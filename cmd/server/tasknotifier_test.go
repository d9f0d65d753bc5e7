package main

import (
	"context"
	"slices"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/ledger"
	"laststand/internal/redisx"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// notifiedNode is a node that sends and receives task notifications.
type notifiedNode struct {
	*taskNotifier
	signal    <-chan struct{} // for a worker of the kind work
	runs      []func(context.Context) error
	listening func() bool
}

func newNotifiedNode() *notifiedNode {
	signal := &taskqueue.Notifier{}
	w := &notifiedNode{taskNotifier: newTaskNotifier(signal, prometheus.NewRegistry()), signal: signal.Subscribe("work")}
	w.runs = append(w.runs, w.Run)
	return w
}

// hasSignal reports whether the worker was notified since the last call.
func (w *notifiedNode) hasSignal() bool {
	select {
	case <-w.signal:
		return true
	default:
		return false
	}
}

// checkNotified runs nodes until the test ends. A notification at one node must wake the
// workers of the others.
func checkNotified(t *testing.T, nodes ...*notifiedNode) {
	t.Helper()
	for _, n := range nodes {
		running := startTasks(discardLog(), n.runs...)
		t.Cleanup(running.stopAndWait)
		waitUntil(t, "the node listens", n.listening)
	}
	for i, from := range nodes {
		from.Notify("work/a")
		if !from.hasSignal() {
			t.Error("the node's own workers are not woken")
		}
		for _, to := range slices.Delete(slices.Clone(nodes), i, i+1) {
			waitUntil(t, "the other node's workers are woken", to.hasSignal)
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
		n := newNotifiedNode()
		inbox := redisx.NewInbox(conn, redisx.InboxConfig{Node: id})
		n.useInbox(inbox, func() []string { return ids })
		n.runs = append(n.runs, inbox.Run)
		n.listening = func() bool { return inbox.Ready(t.Context()) == nil }
		nodes = append(nodes, n)
	}
	checkNotified(t, nodes...)
}

func TestTaskNotificationsReachAllNodesThroughPostgreSQL(t *testing.T) {
	t.Parallel()
	db := testenv.Database(t)
	var nodes []*notifiedNode
	for range 2 {
		l, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Logger: discardLog()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		n := newNotifiedNode()
		n.useDatabase(l)
		n.listening = n.hasSignal // a new listener signals once, for notifications that it may have missed
		nodes = append(nodes, n)
	}
	checkNotified(t, nodes...)
}
