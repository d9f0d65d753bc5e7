package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/ledger"
	"laststand/internal/metric"
	"laststand/internal/redisstore"
	"laststand/internal/timer"
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
	refresh      func(context.Context, int64) error // reads this node's copies again; gets the time when the ledger went back
	now          func() int64                       // epoch ms
	log          *slog.Logger
	wentBack     prometheus.Counter

	last       ledger.Position // the last one that this node has seen
	wentBackAt int64           // when the ledger went back before this node last read its copies
}

// ledgerMark has the last position that any node has seen; *redisstore.LedgerMark implements it.
type ledgerMark interface {
	Load(ctx context.Context) (position string, wentBackAt int64, err error)
	Store(ctx context.Context, position string, wentBackAt int64) error
}

func (n *node) newLedgerWatch() *ledgerWatch {
	return &ledgerWatch{
		position: n.ledger.Position, mark: redisstore.NewLedgerMark(n.redis.Client), offerResults: n.matches.OfferAgain,
		refresh: n.refreshCopies, now: n.now, log: n.log,
		wentBack: metric.For(n.registry, "laststand_ledger_").Counter("rollbacks_total", "Restores and promotions of a standby after which this node found that the ledger may have lost data."),
	}
}

func (w *ledgerWatch) run(ctx context.Context) error {
	return nowAndEvery(ledgerWatchInterval, timer.LogFailures(w.log, "ledger check", w.check))(ctx)
}

// check compares the position of the ledger with those that were seen before. It repeats its work at
// the next call after an error.
func (w *ledgerWatch) check(ctx context.Context) error {
	text, wentBackAt, err := w.mark.Load(ctx) // before the position: another node can store a newer one at any time
	if err != nil {
		return err
	}
	now, err := w.position(ctx)
	if err != nil {
		return err
	}
	var seen ledger.Position
	_ = json.Unmarshal([]byte(text), &seen)  // without a readable mark, there is nothing to compare with
	isReported := w.wentBackAt != wentBackAt // another node has reported what this node may see in its last position
	if !now.Follows(seen) || !isReported && !now.Follows(w.last) {
		if err := w.reportWentBack(ctx, now, seen); err != nil {
			return err
		}
		wentBackAt = max(w.now(), wentBackAt+1)
		err = w.store(ctx, now, wentBackAt)
	} else if now != seen {
		err = w.store(ctx, now, 0)
	}
	if err != nil {
		return err
	}
	w.last = now
	if w.wentBackAt != wentBackAt {
		err = w.refresh(ctx, wentBackAt)
	}
	if err == nil {
		w.wentBackAt = wentBackAt
	}
	return err
}

// reportWentBack offers results again, so that the caller can tell all nodes.
func (w *ledgerWatch) reportWentBack(ctx context.Context, now, seen ledger.Position) error {
	offered, err := w.offerResults(ctx)
	if err != nil {
		return err
	}
	w.log.WarnContext(ctx, "ledger may have lost data; nodes read it again", "now", now, "before", seen, "before_here", w.last, "results_offered_again", offered)
	w.wentBack.Inc()
	return nil
}

func (w *ledgerWatch) store(ctx context.Context, now ledger.Position, wentBackAt int64) error {
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return w.mark.Store(ctx, string(text), wentBackAt)
}

// refreshCopies makes this node read its copies of the ledger again: bans, keys, nicknames, question
// banks, archived leaderboards, tasks. It closes the sessions of players that the ledger has lost.
func (n *node) refreshCopies(ctx context.Context, wentBackAt int64) error {
	n.identity.LedgerWentBack(wentBackAt)
	n.banks.LedgerWentBack()
	n.leaderboardReader.LedgerWentBack()
	n.taskNotifier.Receive(nil)
	return n.sessions.CloseUnknown(ctx, n.ledger.Names.Nicknames)
}
