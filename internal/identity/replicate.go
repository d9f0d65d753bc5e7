package identity

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// NameSource reads the claimed nicknames from the ledger. Times are epoch ms by the
// ledger's clock; the nodes' clocks do not matter.
type NameSource interface {
	// NamesBetween calls f for every nickname of any game that was claimed between two
	// times, both included, in the order of these times. It reads only committed
	// claims. Claims may commit in another order than their times.
	NamesBetween(ctx context.Context, from, to int64, f func(game, skeleton string, at int64)) error
	// EachSkeleton calls f for every nickname of a game that was claimed before the
	// call, except those renamed during the call.
	EachSkeleton(ctx context.Context, game string, f func(skeleton string)) error
	// CountNames returns how many nicknames a game has.
	CountNames(ctx context.Context, game string) (int64, error)
	// Now returns the ledger's clock.
	Now(ctx context.Context) (int64, error)
}

// Snapshots stores the views for the next start of the node. A snapshot may be old, lost
// or of another ledger.
type Snapshots interface {
	// Open returns the snapshot of a game, fs.ErrNotExist if there is none.
	Open(game string) (io.ReadCloser, error)
	// Save stores what write writes. If write fails, the former snapshot stays.
	Save(game string, write func(io.Writer) error) error
}

const (
	// readInterval is the time between two reads of new claims. Every node must know a
	// claimed name within a second.
	readInterval = 400 * time.Millisecond
	// Names may commit in another order than their times. So each read starts
	// readOverlap before the newest name that is known. A name that took longer to
	// commit is found by a full read. There is one every fullReadInterval. It starts
	// fullReadOverlap before the start of the last full read.
	readOverlap      = time.Second
	fullReadInterval = 20 * time.Second
	fullReadOverlap  = time.Minute
	// The time limits of one read. The first read after the start has no limit, because
	// it may have more to read.
	readTimeout     = 5 * time.Second
	fullReadTimeout = 30 * time.Second
)

// nameReplicator keeps the views of all games up to date with the ledger.
type nameReplicator struct {
	Config
	views   map[string]*nameView
	metrics *nameMetrics

	newestAt      int64        // time of the newest name that was read, by the ledger's clock; only the read loop uses it
	highestAt     int64        // highest time ever read; may be above the ledger's clock after that was set back; only the read loop uses it
	fullReadAt    time.Time    // when the last full read started, by this node's clock; only the read loop uses it
	fullReadClock atomic.Int64 // when the last full read started, by the ledger's clock, epoch ms
	lastReadAfter atomic.Int64 // when the last read ended: ns since startedAt
	startedAt     time.Time

	readDone   chan struct{}  // has a value after a successful read; maintainViews then checks which views to rebuild
	savedSizes map[string]int // by game, how many names the last snapshot has; only maintainViews uses it while it runs, run before and after
}

func newNameReplicator(config Config, views map[string]*nameView) *nameReplicator {
	replicator := &nameReplicator{Config: config, views: views, startedAt: time.Now(), readDone: make(chan struct{}, 1), savedSizes: map[string]int{}}
	replicator.metrics = newNameMetrics(config.Registry, views, replicator.timeSinceRead)
	return replicator
}

// timeSinceRead returns the time since the last successful read of the ledger.
func (r *nameReplicator) timeSinceRead() time.Duration {
	return time.Since(r.startedAt) - time.Duration(r.lastReadAfter.Load())
}

// run keeps the views up to date until ctx ends, and then saves snapshots.
func (r *nameReplicator) run(ctx context.Context) {
	tick := time.NewTicker(readInterval)
	defer tick.Stop()
	if !r.retryUntilSuccess(ctx, tick, r.loadSnapshots) || !r.retryUntilSuccess(ctx, tick, r.catchUp) {
		return
	}
	var maintenance sync.WaitGroup
	maintenance.Go(func() { r.maintainViews(ctx) })
	for r.retryUntilSuccess(ctx, tick, r.readNew) {
		r.requestLargerViews()
		r.notifyBuilder()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	maintenance.Wait()
	r.saveSnapshots()
}

// retryUntilSuccess repeats the call until it succeeds, and then returns true. It logs the
// first failure and the recovery. It returns false if ctx has ended.
func (r *nameReplicator) retryUntilSuccess(ctx context.Context, retryTicker *time.Ticker, call func(context.Context) error) bool {
	for failed := false; ; failed = true {
		if ctx.Err() != nil {
			return false
		}
		err := call(ctx)
		switch {
		case err == nil:
			r.lastReadAfter.Store(int64(time.Since(r.startedAt)))
			if failed {
				r.Logger.InfoContext(ctx, "nickname reads recovered")
			}
			return true
		case ctx.Err() != nil:
			return false
		}
		r.metrics.failures.Inc()
		if !failed {
			r.Logger.WarnContext(ctx, "nickname read failed; the server retries it", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-retryTicker.C:
		}
	}
}

// notifyBuilder wakes maintainViews. It does not block.
func (r *nameReplicator) notifyBuilder() {
	select {
	case r.readDone <- struct{}{}:
	default:
	}
}

// readNew adds the names that were claimed since the last read to the views.
func (r *nameReplicator) readNew(ctx context.Context) error {
	sinceFullRead := time.Since(r.fullReadAt)
	if sinceFullRead >= fullReadInterval {
		ctx, cancel := context.WithTimeout(ctx, fullReadTimeout)
		defer cancel()
		return r.readFull(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	ledgerNow, previousHighest := r.fullReadClock.Load()+sinceFullRead.Milliseconds(), r.highestAt
	err := r.readFrom(ctx, r.newestAt, ledgerNow, readOverlap)
	if r.highestAt > max(previousHighest, ledgerNow+readOverlap.Milliseconds()) {
		r.fullReadAt = time.Time{} // the clock was set forward: the next read is a full one
	}
	return err
}

// readFull reads all names that were claimed since a minute before the last full read, so
// also names that were committed late. It also checks whether the ledger's clock was set
// back by more than a minute. New names may then have times that were read before, so
// readFull requests a rebuild of all views.
func (r *nameReplicator) readFull(ctx context.Context) error {
	startedAt := time.Now()
	ledgerNow, err := r.NameSource.Now(ctx)
	if err != nil {
		return err
	}
	previousClock := r.fullReadClock.Load()
	if err := r.readFrom(ctx, min(previousClock, ledgerNow), ledgerNow, fullReadOverlap); err != nil {
		return err
	}
	if ledgerNow < previousClock-fullReadOverlap.Milliseconds() {
		for _, view := range r.views {
			view.requestRebuild(causeClockSetBack)
		}
	}
	r.fullReadAt, r.newestAt = startedAt, ledgerNow
	r.fullReadClock.Store(ledgerNow)
	return nil
}

// readFrom reads all names from the time from on, and those up to overlap before it. After
// the ledger's clock was set back, it reads only up to overlap after the clock. Otherwise
// it would read all later names each time until the clock has caught up.
func (r *nameReplicator) readFrom(ctx context.Context, from, ledgerNow int64, overlap time.Duration) error {
	to := int64(math.MaxInt64)
	if r.highestAt > ledgerNow {
		to = ledgerNow + overlap.Milliseconds()
	}
	return r.NameSource.NamesBetween(ctx, from-overlap.Milliseconds(), to, func(game, skeleton string, at int64) {
		r.newestAt, r.highestAt = max(r.newestAt, at), max(r.highestAt, at)
		if view := r.views[game]; view != nil {
			view.addSkeleton(skeleton)
		}
	})
}
