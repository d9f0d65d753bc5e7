package main

import (
	"context"
	"strings"

	"laststand/internal/redisx"
	"laststand/internal/taskqueue"
)

// kindTasksAdded is the kind of inbox messages about new tasks. The payload has the kinds of the
// tasks, separated by spaces.
const kindTasksAdded = "woken"

// connectTaskNotifier makes a notifier send notifications to the inboxes of the nodes that alive
// returns, and receive theirs. A node that may have missed messages must call Receive without
// kinds, which wakes the workers of all kinds. Call it before Run.
func connectTaskNotifier(notifier *taskqueue.CrossNodeNotifier, inbox *redisx.Inbox, alive func() []string) {
	notifier.Publish = func(ctx context.Context, kinds []string) error {
		inbox.Send(ctx, alive(), kindTasksAdded, []byte(strings.Join(kinds, " ")))
		return nil
	}
	inbox.Handle(kindTasksAdded, func(payload []byte) { notifier.Receive(strings.Fields(string(payload))) })
}
