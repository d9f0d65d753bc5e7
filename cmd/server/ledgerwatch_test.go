package main

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"laststand/internal/ledger"
)

// watchedLedger is a ledger that goes back, with what all nodes share.
type watchedLedger struct {
	now        ledger.Position
	mark       string
	wentBackAt int64
	err        error // of the ledger, the offer, the mark and the refresh, each once
	failures   int
}

func (l *watchedLedger) fail() error {
	if l.failures--; l.failures == 0 {
		return l.err
	}
	return nil
}

func (l *watchedLedger) Load(context.Context) (string, int64, error) {
	return l.mark, l.wentBackAt, l.fail()
}

func (l *watchedLedger) Store(_ context.Context, position string, wentBackAt int64) error {
	if err := l.fail(); err != nil {
		return err
	}
	l.mark, l.wentBackAt = position, max(wentBackAt, l.wentBackAt)
	return nil
}

// watcher counts what the watch of one node does.
type watcher struct {
	*ledgerWatch
	offers, refreshes int
}

func (l *watchedLedger) node() *watcher {
	w := &watcher{}
	w.ledgerWatch = &ledgerWatch{
		position: func(context.Context) (ledger.Position, error) { return l.now, l.fail() },
		mark:     l, log: discardLog(), wentBack: prometheus.NewCounter(prometheus.CounterOpts{}), now: func() int64 { return 7 },
		offerResults: func(context.Context) (int, error) {
			if err := l.fail(); err != nil {
				return 0, err
			}
			w.offers++
			return 1, nil
		},
		refresh: func(context.Context, int64) error {
			if err := l.fail(); err != nil {
				return err
			}
			w.refreshes++
			return nil
		},
	}
	return w
}

func (w *watcher) checkWork(t *testing.T, cause string, offers, refreshes int) {
	t.Helper()
	if err := w.check(t.Context()); err != nil || w.offers != offers || w.refreshes != refreshes {
		t.Errorf("%s: %d offers and %d refreshes, want %d and %d; %v", cause, w.offers, w.refreshes, offers, refreshes, err)
	}
}

// One node offers the results again, and every node that was running reads its copies again.
func TestEveryNodeLearnsThatTheLedgerWentBack(t *testing.T) {
	t.Parallel()
	l := &watchedLedger{now: ledger.Position{Epoch: "a", Entries: 5}}
	first, second := l.node(), l.node()
	first.checkWork(t, "a start", 0, 0)
	l.now.Entries = 9
	second.checkWork(t, "new entries", 0, 0)
	l.now.Entries = 7
	first.checkWork(t, "went back, still more than this node has seen", 1, 1)
	second.checkWork(t, "the other node has reported it", 0, 1)
	first.checkWork(t, "nothing new", 1, 1)
	second.checkWork(t, "nothing new", 0, 1)
	l.now.Epoch = "b"
	starting := l.node()
	starting.checkWork(t, "a node starts with a restored ledger", 1, 1)
	first.checkWork(t, "a running node", 1, 2)
	l.mark, l.now.Access = "", 3
	second.checkWork(t, "Redis was emptied", 0, 2)
	l.mark, l.now.Access = "", 2
	second.checkWork(t, "Redis was emptied and the ledger went back", 1, 3)
	if got := testutil.ToFloat64(first.wentBack) + testutil.ToFloat64(second.wentBack) + testutil.ToFloat64(starting.wentBack); got != 3 {
		t.Errorf("%v rollbacks were counted", got)
	}
}

// A node that stores a newer position, while another one checks, does not look like a rollback.
func TestAConcurrentCheckIsNoRollback(t *testing.T) {
	t.Parallel()
	l := &watchedLedger{now: ledger.Position{Epoch: "a", Entries: 5}}
	slow, fast := l.node(), l.node()
	readPosition := slow.position
	slow.position = func(ctx context.Context) (ledger.Position, error) {
		position, err := readPosition(ctx)
		l.now.Entries++
		fast.checkWork(t, "a new entry", 0, 0)
		return position, err
	}
	for range 3 {
		slow.checkWork(t, "an older position than the other node's", 0, 0)
	}
}

// After an error, the next check does the work.
func TestTheWatchRepeatsItsWorkAfterAnError(t *testing.T) {
	t.Parallel()
	for failures := 1; failures <= 5; failures++ {
		l := &watchedLedger{now: ledger.Position{Epoch: "a", Entries: 5}, err: errors.New("down")}
		node := l.node()
		node.checkWork(t, "a start", 0, 0)
		l.now.Entries, l.failures = 4, failures
		if err := node.check(t.Context()); !errors.Is(err, l.err) {
			t.Errorf("failure %d: %v", failures, err)
		}
		if err := node.check(t.Context()); err != nil || node.offers < 1 || node.refreshes != 1 {
			t.Errorf("failure %d: %d offers, %d refreshes, %v", failures, node.offers, node.refreshes, err)
		}
	}
}
