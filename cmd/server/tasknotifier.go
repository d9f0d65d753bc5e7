package main

import (
	"context"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"laststand/internal/ledger"
	"laststand/internal/redisx"
	"laststand/internal/taskqueue"
)

// kindTasksAdded is the kind of inbox messages about new tasks. The payload has the kinds of the
// tasks, separated by spaces.
const kindTasksAdded = "woken"

// taskNotifier notifies the task workers of all nodes about new tasks: through the inboxes of
// the nodes if the nodes share a Redis, else through the database.
type taskNotifier struct {
	*taskqueue.CrossNodeNotifier

	send   func(ctx context.Context, kinds []string) error
	listen func(ctx context.Context, received func(kinds []string)) error
}

// newTaskNotifier returns a notifier for the workers that subscribe to signal. Call useInbox or
// useDatabase before Run.
func newTaskNotifier(signal *taskqueue.Notifier, r prometheus.Registerer) *taskNotifier {
	n := new(taskNotifier)
	n.CrossNodeNotifier = taskqueue.NewCrossNodeNotifier(taskqueue.CrossNodeConfig{
		Notifier: signal, Publish: func(ctx context.Context, kinds []string) error { return n.send(ctx, kinds) }, Registry: r,
	})
	return n
}

// useInbox sends notifications to the inboxes of the nodes that alive returns. A node that may
// have missed messages must call Receive without kinds, which wakes the workers of all kinds.
func (n *taskNotifier) useInbox(inbox *redisx.Inbox, alive func() []string) {
	n.send = func(ctx context.Context, kinds []string) error {
		inbox.Send(ctx, alive(), kindTasksAdded, []byte(strings.Join(kinds, " ")))
		return nil
	}
	n.listen = func(ctx context.Context, _ func([]string)) error {
		<-ctx.Done() // the node runs the inbox as a task of its own
		return nil
	}
	inbox.Handle(kindTasksAdded, func(payload []byte) { n.Receive(strings.Fields(string(payload))) })
}

// useDatabase sends notifications by NOTIFY of PostgreSQL and receives them by LISTEN.
func (n *taskNotifier) useDatabase(l *ledger.TaskNotifications) {
	n.send, n.listen = l.Notify, l.Listen
}

// Run sends and receives notifications until ctx ends.
func (n *taskNotifier) Run(ctx context.Context) error {
	var group errgroup.Group
	group.Go(func() error { return n.CrossNodeNotifier.Run(ctx) })
	group.Go(func() error { return n.listen(ctx, n.Receive) })
	return group.Wait()
}
