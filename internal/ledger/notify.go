package ledger

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Processes that share PostgreSQL but no Redis notify each other of new tasks by NOTIFY
// on one channel. A payload has the sender's process id and the kinds of the tasks,
// separated by spaces.
const (
	notifyChannel   = "laststand_woken"
	selectNotify    = "SELECT pg_notify('" + notifyChannel + "', $1)"
	maxPayloadBytes = 7900 // bytes of a payload; PostgreSQL allows less than 8,000

	minListenRetryDelay = 100 * time.Millisecond // delay before Listen reconnects; doubled after each failure
	maxListenRetryDelay = 10 * time.Second
)

// Notify notifies the other processes that use this database of ready tasks of these
// kinds. On SQLite there are no other processes, and it does nothing.
func (n *TaskNotifications) Notify(ctx context.Context, kinds []string) error {
	if n.openListener == nil {
		return nil
	}
	for _, payload := range notifyPayloads(n.processID, kinds) {
		if _, err := n.exec(ctx, selectNotify, payload); err != nil {
			return err
		}
	}
	return nil
}

// notifyPayloads returns the payloads for kinds, as few as possible. A kind must have no
// spaces.
func notifyPayloads(senderID string, kinds []string) (payloads []string) {
	var payload strings.Builder
	for _, kind := range kinds {
		if payload.Len() > 0 && payload.Len()+1+len(kind) > maxPayloadBytes {
			payloads = append(payloads, payload.String())
			payload.Reset()
		}
		if payload.Len() == 0 {
			payload.WriteString(senderID)
		}
		payload.WriteString(" " + kind)
	}
	return append(payloads, payload.String())
}

// Listen receives the notifications of other processes that use this database, until ctx
// ends. It uses a connection of its own and reconnects when that fails. It calls onKinds
// with the kinds of each notification. It calls onKinds(nil) whenever it has subscribed,
// because earlier notifications are lost. onKinds must not block. On SQLite, Listen only
// waits for ctx. It returns nil.
func (n *TaskNotifications) Listen(ctx context.Context, onKinds func(kinds []string)) error {
	if n.openListener == nil {
		<-ctx.Done()
		return nil
	}
	retryDelay, isFailing := minListenRetryDelay, false
	for ctx.Err() == nil {
		err := n.listen(ctx, func(kinds []string) {
			if isFailing {
				n.log.InfoContext(ctx, "task notifications recovered")
			}
			retryDelay, isFailing = minListenRetryDelay, false
			onKinds(kinds)
		})
		if !isFailing && ctx.Err() == nil {
			isFailing = true
			n.log.WarnContext(ctx, "task notifications failed; falling back to polling", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(retryDelay/2 + rand.N(retryDelay/2)): //nolint:gosec // a wait is no secret
		}
		retryDelay = min(2*retryDelay, maxListenRetryDelay)
	}
	return nil
}

// listen receives notifications on one connection until the connection fails or ctx ends.
func (n *TaskNotifications) listen(ctx context.Context, onKinds func(kinds []string)) error {
	conn, err := n.openListener(ctx)
	if err != nil {
		return err
	}
	defer closeConn(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN "+notifyChannel); err != nil {
		return err
	}
	onKinds(nil)
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if fields := strings.Fields(notice.Payload); len(fields) > 1 && fields[0] != n.processID {
			onKinds(fields[1:])
		}
	}
}

// closeConn closes a connection, also if the context has ended.
func closeConn(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // an error does not matter: all received notifications were handled
}
