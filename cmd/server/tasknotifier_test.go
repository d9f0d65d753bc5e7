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

// woken is a node that tells others of what wakes, and hears of it.
type woken struct {
	*taskNotifier
	ear       <-chan struct{} // of a worker of the kind work
	runs      []func(context.Context) error
	listening func() bool
}

func newWoken() *woken {
	bell := &taskqueue.Notifier{}
	w := &woken{taskNotifier: newTaskNotifier(bell, prometheus.NewRegistry()), ear: bell.Subscribe("work")}
	w.runs = append(w.runs, w.Run)
	return w
}

// rung says whether the worker was rung for since it was asked last.
func (w *woken) rung() bool {
	select {
	case <-w.ear:
		return true
	default:
		return false
	}
}

// wantTold runs nodes until the test ends; what wakes at one wakes the workers of
// the others.
func wantTold(t *testing.T, nodes ...*woken) {
	t.Helper()
	for _, n := range nodes {
		running := start(quiet(), n.runs...)
		t.Cleanup(running.end)
		eventually(t, "the node listens", n.listening)
	}
	for i, from := range nodes {
		from.Notify("work/a")
		if !from.rung() {
			t.Error("the node's own workers are not woken")
		}
		for _, to := range slices.Delete(slices.Clone(nodes), i, i+1) {
			eventually(t, "the other node's workers are woken", to.rung)
		}
	}
}

func TestWakingByInboxes(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	ids := []string{ulid.Make().String(), ulid.Make().String()}
	var nodes []*woken
	for _, id := range ids {
		conn, err := redisx.Open(t.Context(), redisx.Config{URL: server.URL, Registry: prometheus.NewRegistry(), Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		n := newWoken()
		inbox := redisx.NewInbox(conn, redisx.InboxConfig{Node: id})
		n.useInbox(inbox, func() []string { return ids })
		n.runs = append(n.runs, inbox.Run)
		n.listening = func() bool { return inbox.Ready(t.Context()) == nil }
		nodes = append(nodes, n)
	}
	wantTold(t, nodes...)
}

func TestWakingByTheDatabase(t *testing.T) {
	t.Parallel()
	db := testenv.Database(t)
	var nodes []*woken
	for range 2 {
		l, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Logger: quiet()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		n := newWoken()
		n.useDatabase(l)
		n.listening = n.rung // for what it may have missed
		nodes = append(nodes, n)
	}
	wantTold(t, nodes...)
}
