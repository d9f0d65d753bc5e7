package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"laststand/internal/ledger"
	"laststand/internal/loop"
	"laststand/internal/redisstore"
)

// ledgerWatchInterval is how often a node reads the position of the ledger.
const ledgerWatchInterval = time.Second

// ledgerWatch finds out when the ledger went back: after a restore, a recovery to a point in time,
// or the promotion of a standby that may have been behind. It compares the position of the ledger
// with the last one that this node and all nodes have seen. Then results of the last minutes are
// offered again, and each node reads its copies of the ledger again. Leaderboards do not need it:
// they compare their watermark with each page of entries.
type ledgerWatch struct {
	position     func(context.Context) (ledger.Position, error)
	mark         ledgerMark
	offerResults func(context.Context) (int, error) // to the ledger, those that it has lately got
	refresh      func(context.Context) error        // reads this node's copies again
	log          *slog.Logger
	wentBack     prometheus.Counter

	last  ledger.Position // the last one that this node has seen
	count int64           // of the mark, when this node last read its copies; -1: not known yet
}

// ledgerMark has the last position that any node has seen; *redisstore.LedgerMark implements it.
type ledgerMark interface {
	Load(ctx context.Context) (position string, wentBack int64, err error)
	Store(ctx context.Context, position string, wentBack int64) (sum int64, err error)
}

func (n *node) newLedgerWatch() *ledgerWatch {
	return &ledgerWatch{
		position: n.ledger.Position, mark: redisstore.NewLedgerMark(n.redis.Client), offerResults: n.matches.OfferAgain,
		refresh: n.refreshCopies, log: n.log, count: -1,
		wentBack: promauto.With(n.registry).NewCounter(prometheus.CounterOpts{
			Name: "laststand_ledger_rollbacks_total", Help: "Restores and promotions of a standby after which this node found that the ledger may have lost data.",
		}),
	}
}

// run checks the ledger until ctx ends.
func (w *ledgerWatch) run(ctx context.Context) error {
	return nowAndEvery(ledgerWatchInterval, loop.LogFailures(w.log, "ledger check", w.check))(ctx)
}

// check compares the position of the ledger with those that were seen before. It repeats its work at
// the next call after an error.
func (w *ledgerWatch) check(ctx context.Context) error {
	now, err := w.position(ctx)
	if err != nil {
		return err
	}
	text, count, err := w.mark.Load(ctx)
	if err != nil {
		return err
	}
	var seen ledger.Position
	_ = json.Unmarshal([]byte(text), &seen) // without a readable mark, there is nothing to compare with
	isKnown := w.count != count             // another node has reported what this node may see in its last position
	if !now.Follows(seen) || !isKnown && !now.Follows(w.last) {
		count, err = w.reportWentBack(ctx, now, seen)
	} else if now != seen {
		count, err = w.store(ctx, now, 0)
	}
	if err != nil {
		return err
	}
	w.last = now
	if w.count >= 0 && w.count != count {
		if err := w.refresh(ctx); err != nil {
			return err
		}
	}
	w.count = count
	return nil
}

// reportWentBack offers results again, and then tells all nodes.
func (w *ledgerWatch) reportWentBack(ctx context.Context, now, seen ledger.Position) (count int64, err error) {
	offered, err := w.offerResults(ctx)
	if err != nil {
		return 0, err
	}
	w.log.WarnContext(ctx, "ledger may have lost data; nodes read it again", "now", now, "before", seen, "before_here", w.last, "results_offered_again", offered)
	w.wentBack.Inc()
	return w.store(ctx, now, 1)
}

func (w *ledgerWatch) store(ctx context.Context, now ledger.Position, wentBack int64) (count int64, err error) {
	text, err := json.Marshal(now)
	if err != nil {
		return 0, err
	}
	return w.mark.Store(ctx, string(text), wentBack)
}

// refreshCopies makes this node read its copies of the ledger again: bans, keys, nicknames, question
// banks, archived leaderboards, tasks. It closes the sessions of players that the ledger has lost.
func (n *node) refreshCopies(ctx context.Context) error {
	n.identity.LedgerWentBack()
	n.banks.LedgerWentBack()
	n.leaderboardReader.LedgerWentBack()
	n.taskNotifier.Receive(nil)
	return n.sessions.CloseUnknown(ctx, n.ledger.Names.Nicknames)
}
