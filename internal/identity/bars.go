package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// BarsConfig is what a view of bars is made of; all fields but Registry are
// needed. Now is epoch ms by the clock that tokens live by.
type BarsConfig struct {
	Store    BarStore
	Tokens   *Tokens // whose kept keys have a revision in the store too
	Now      func() int64
	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: not measured
}

// Bars is this node's view of all bars in force. It reads what has changed every
// second, and at once when woken. While the store is out of reach it keeps what
// it knows: who was barred stays out, and new bars wait. Safe for concurrent use; where it is nil nobody is barred.
type Bars struct {
	BarsConfig
	metrics *barMetrics
	woken   chan struct{}
	changed func([]Bar)  // set before Run
	gaps    atomic.Int64 // how often the view may have missed bars; see Claims.gaps

	reading sync.Mutex
	seq     int64 // up to which the view has all bars; these are under reading
	barsAt  int64 // when it was last seen to
	keysAt  int64 // the revision of the keys that Tokens has, at least
	sweptAt int64
	faulty  bool // the last reading failed

	mu     sync.RWMutex // written to under reading too
	held   map[barKey]Bar
	counts map[BarKind]int
}

type barKey struct {
	game string
	kind BarKind
	id   string
}

const (
	barsEvery  = time.Second
	barsWithin = 5 * time.Second // each question to the store
	barsPage   = 1000
	sweepEvery = time.Minute
)

// OpenBars reads all bars. Run keeps the view up to date.
func OpenBars(ctx context.Context, c BarsConfig) (*Bars, error) {
	b := &Bars{BarsConfig: c, woken: make(chan struct{}, 1), changed: func([]Bar) {}, barsAt: c.Now()}
	b.metrics = newBarMetrics(c.Registry, c.Now)
	b.replace(nil)
	if err := b.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("identity: bars: %w", err)
	}
	return b, nil
}

// OnChange has f called, one call at a time, after each reading that found
// something, with the bars in it, none where only keys have changed. It is
// called before Run.
func (b *Bars) OnChange(f func([]Bar)) { b.changed = f }

// Wake has the view read soon. It does not block.
func (b *Bars) Wake() {
	select {
	case b.woken <- struct{}{}:
	default: // it is about to
	}
}

// Run keeps the view up to date until ctx ends.
func (b *Bars) Run(ctx context.Context) error {
	tick := time.NewTicker(barsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-b.woken:
		}
		if err := b.Refresh(ctx); err != nil && ctx.Err() == nil {
			b.metrics.failures.Inc()
		}
	}
}

// Refresh reads what has changed now. Its error has been logged, once for each
// time that the store is away.
func (b *Bars) Refresh(ctx context.Context) error {
	b.reading.Lock()
	defer b.reading.Unlock()
	found, moved, err := b.read(ctx)
	if moved {
		b.changed(found)
	}
	if faulty := err != nil; faulty != b.faulty {
		b.faulty = faulty
		if faulty {
			b.Logger.WarnContext(ctx, "bans and revocations cannot be read; those that are known stay in force, and new ones wait", "error", err)
		} else {
			b.Logger.InfoContext(ctx, "bans and revocations are read again")
		}
	}
	if err == nil {
		b.metrics.readAt.Store(b.Now())
	}
	b.sweep()
	return err
}

// read brings bars and keys to the store's revision, each whether or not the
// other can be read.
func (b *Bars) read(ctx context.Context) (found []Bar, moved bool, err error) {
	var revision Revision
	err = within(ctx, func(ctx context.Context) (err error) {
		revision, err = b.Store.Revision(ctx)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	found, missed, err := b.readBars(ctx, revision.Bars)
	if revision.Keys == b.keysAt {
		return found, missed || len(found) > 0, err
	}
	keysErr := within(ctx, b.Tokens.reload)
	if keysErr == nil {
		b.keysAt = revision.Keys
	}
	return found, missed || len(found) > 0 || keysErr == nil, errors.Join(err, keysErr)
}

// within bounds one question to the store.
func within(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, barsWithin)
	defer cancel()
	return ask(ctx)
}

// readBars reads what has changed, or all bars: where the revision is behind the
// view's, as in another store or one that was put back, and where the store may
// have forgotten what the view has not heard of. Until all are read those that
// the view has are in force. Missed says that there may have been others.
func (b *Bars) readBars(ctx context.Context, revision int64) (found []Bar, missed bool, err error) {
	now := b.Now()
	if revision < b.seq || now-b.barsAt > BarsKept.Milliseconds()/2 {
		if found, err = b.since(ctx, 0, func([]Bar) {}); err != nil {
			return nil, false, err
		}
		b.replace(heard(found, now))
		if missed = now-b.barsAt > BarsKept.Milliseconds(); missed {
			b.gaps.Add(1)
		}
		b.seq = 0
	} else if revision > b.seq {
		found, err = b.since(ctx, b.seq, func(page []Bar) { b.hold(heard(page, now)) })
	}
	if len(found) > 0 {
		b.seq = found[len(found)-1].Seq
	}
	if err == nil {
		b.seq, b.barsAt = max(b.seq, revision), now
	}
	return found, missed, err
}

// since reads the bars changed after a revision by pages, and gives those before
// an error too.
func (b *Bars) since(ctx context.Context, seq int64, each func(page []Bar)) (found []Bar, err error) {
	for {
		var page []Bar
		err := within(ctx, func(ctx context.Context) (err error) {
			page, err = b.Store.BarsSince(ctx, seq, barsPage)
			return err
		})
		if err != nil {
			return found, err
		}
		each(page)
		found = append(found, page...)
		if len(page) < barsPage {
			return found, nil
		}
		seq = page[len(page)-1].Seq
	}
}
