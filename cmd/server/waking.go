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

const kindWoken = "woken"

// waking has the workers of all nodes hear of what wakes at one: by the nodes'
// inboxes where they share a Redis, else by the database that they share.
type waking struct {
	*taskqueue.CrossNodeNotifier

	tell   func(ctx context.Context, kinds []string) error
	listen func(ctx context.Context, heard func(kinds []string)) error
}

// newWaking makes it for a bell; byInbox or byDatabase says how nodes are told,
// before Run.
func newWaking(bell *taskqueue.Notifier, r prometheus.Registerer) *waking {
	w := new(waking)
	w.CrossNodeNotifier = taskqueue.NewCrossNodeNotifier(taskqueue.CrossNodeConfig{
		Notifier: bell, Publish: func(ctx context.Context, kinds []string) error { return w.tell(ctx, kinds) }, Registry: r,
	})
	return w
}

// byInbox has those nodes told that are alive. Whoever may have missed messages
// of its inbox calls Heard with nothing.
func (w *waking) byInbox(inbox *redisx.Inbox, alive func() []string) {
	w.tell = func(ctx context.Context, kinds []string) error {
		inbox.Send(ctx, alive(), kindWoken, []byte(strings.Join(kinds, " ")))
		return nil
	}
	w.listen = func(ctx context.Context, _ func([]string)) error {
		<-ctx.Done() // the inbox runs by itself
		return nil
	}
	inbox.Handle(kindWoken, func(payload []byte) { w.Receive(strings.Fields(string(payload))) })
}

func (w *waking) byDatabase(l *ledger.Ledger) { w.tell, w.listen = l.Notify, l.Listen }

// Run tells and listens until the context ends.
func (w *waking) Run(ctx context.Context) error {
	var both errgroup.Group
	both.Go(func() error { return w.CrossNodeNotifier.Run(ctx) })
	both.Go(func() error { return w.listen(ctx, w.Receive) })
	return both.Wait()
}
