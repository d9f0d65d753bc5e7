package ledger

import (
	"context"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// Processes that share a PostgreSQL and no Redis tell each other of kinds of the
// durable queue by NOTIFY, on one channel; a payload is the sender and kinds.
const (
	wokenChannel = "laststand_woken"
	notify       = "SELECT pg_notify('" + wokenChannel + "', $1)"
	maxNotice    = 7900 // bytes of kinds in a payload; PostgreSQL takes 8,000 of all

	minDeaf = 100 * time.Millisecond // before it listens again, doubled while that fails
	maxDeaf = 10 * time.Second
)

// Notify tells the other processes at this database of kinds of the durable
// queue. Nobody else is at SQLite's.
func (l *Ledger) Notify(ctx context.Context, kinds []string) error {
	if l.connect == nil {
		return nil
	}
	for _, payload := range notices(l.self, kinds) {
		if _, err := l.exec(ctx, notify, payload); err != nil {
			return err
		}
	}
	return nil
}

// notices are the payloads that tell of kinds. A kind has no spaces.
func notices(from string, kinds []string) (payloads []string) {
	var payload strings.Builder
	for _, kind := range kinds {
		if payload.Len() > 0 && payload.Len()+1+len(kind) > maxNotice {
			payloads = append(payloads, payload.String())
			payload.Reset()
		}
		if payload.Len() == 0 {
			payload.WriteString(from)
		}
		payload.WriteString(" " + kind)
	}
	return append(payloads, payload.String())
}

// Listen hears what other processes at this database tell by Notify, until the
// context ends, on a connection of its own, which it makes anew when it is lost.
// No kinds: it listens from now on, and what was told before is lost. Heard never
// blocks. At SQLite there is nothing to hear.
func (l *Ledger) Listen(ctx context.Context, heard func(kinds []string)) error {
	if l.connect == nil {
		<-ctx.Done()
		return nil
	}
	wait, deaf := minDeaf, false
	for ctx.Err() == nil {
		err := l.listen(ctx, func(kinds []string) {
			if deaf {
				l.log.InfoContext(ctx, "other nodes' words about tasks are heard again")
			}
			wait, deaf = minDeaf, false
			heard(kinds)
		})
		if !deaf && ctx.Err() == nil {
			deaf = true
			l.log.WarnContext(ctx, "other nodes' words about tasks are not heard; the slow poll finds what they are about", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait/2 + rand.N(wait/2)): //nolint:gosec // a wait is no secret
		}
		wait = min(2*wait, maxDeaf)
	}
	return nil
}

// listen hears on one connection until that or the context ends.
func (l *Ledger) listen(ctx context.Context, heard func(kinds []string)) error {
	conn, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer closeSoon(ctx, conn)
	if _, err := conn.Exec(ctx, "LISTEN "+wokenChannel); err != nil {
		return err
	}
	heard(nil)
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if said := strings.Fields(notice.Payload); len(said) > 1 && said[0] != l.self {
			heard(said[1:])
		}
	}
}

// closeSoon says goodbye, also where the context has ended.
func closeSoon(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = conn.Close(ctx) // it has heard what it has
}
