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
	// Clock returns the ledger's clock.
	Clock(ctx context.Context) (int64, error)
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
	readEvery = 400 * time.Millisecond
	// Names may commit in another order than their times. So each read starts
	// readOverlap before the newest name that is known. A name that took longer to
	// commit is found by a full read. There is one every fullReadInterval. It starts
	// fullReadOverlap before the start of the last full read.
	readOverlap     = time.Second
	fullReadEvery   = 20 * time.Second
	fullReadOverlap = time.Minute
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

	newestAt   int64        // time of the newest name that was read, by the ledger's clock; only the read loop uses it
	highestAt  int64        // highest time ever read; may be above the ledger's clock after that was set back; only the read loop uses it
	fullReadAt time.Time    // when the last full read started, by this node's clock; only the read loop uses it
	watermark  atomic.Int64 // when the last full read started, by the ledger's clock, epoch ms
	readAt     atomic.Int64 // when the last read ended: ns since startedAt
	born       time.Time

	readings   chan struct{}  // has a value after a successful read; maintainViews then checks which views to rebuild
	savedSizes map[string]int // by game, how many names the last snapshot has; only maintainViews uses it while it runs, run before and after
}

func newNameReplicator(c Config, known map[string]*nameView) *nameReplicator {
	f := &nameReplicator{Config: c, views: known, born: time.Now(), readings: make(chan struct{}, 1), savedSizes: map[string]int{}}
	f.metrics = newNameMetrics(c.Registry, known, f.age)
	return f
}

// age returns the time since the last successful read of the ledger.
func (f *nameReplicator) age() time.Duration {
	return time.Since(f.born) - time.Duration(f.readAt.Load())
}

// run keeps the views up to date until ctx ends, and then saves snapshots.
func (f *nameReplicator) run(ctx context.Context) {
	tick := time.NewTicker(readEvery)
	defer tick.Stop()
	if !f.retryUntilDone(ctx, tick, f.loadSnapshots) || !f.retryUntilDone(ctx, tick, f.catchUp) {
		return
	}
	var keeping sync.WaitGroup
	keeping.Go(func() { f.maintainViews(ctx) })
	for f.retryUntilDone(ctx, tick, f.read) {
		f.requestLargerViews()
		f.notifyBuilder()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	keeping.Wait()
	f.saveAll()
}

// retryUntilDone repeats the call until it succeeds, and then returns true. It logs the
// first failure and the recovery. It returns false if ctx has ended.
func (f *nameReplicator) retryUntilDone(ctx context.Context, again *time.Ticker, call func(context.Context) error) bool {
	for failed := false; ; failed = true {
		if ctx.Err() != nil {
			return false
		}
		err := call(ctx)
		switch {
		case err == nil:
			f.readAt.Store(int64(time.Since(f.born)))
			if failed {
				f.Logger.InfoContext(ctx, "nickname reads recovered")
			}
			return true
		case ctx.Err() != nil:
			return false
		}
		f.metrics.failures.Inc()
		if !failed {
			f.Logger.WarnContext(ctx, "nickname read failed; the server retries it", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		}
	}
}

// notifyBuilder wakes maintainViews. It does not block.
func (f *nameReplicator) notifyBuilder() {
	select {
	case f.readings <- struct{}{}:
	default:
	}
}

// read adds the names that were claimed since the last read to the views.
func (f *nameReplicator) read(ctx context.Context) error {
	passed := time.Since(f.fullReadAt)
	if passed >= fullReadEvery {
		ctx, cancel := context.WithTimeout(ctx, fullReadTimeout)
		defer cancel()
		return f.readFull(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	clock, highest := f.watermark.Load()+passed.Milliseconds(), f.highestAt
	err := f.readFrom(ctx, f.newestAt, clock, readOverlap)
	if f.highestAt > max(highest, clock+readOverlap.Milliseconds()) {
		f.fullReadAt = time.Time{} // the clock was set forward: the next read is a full one
	}
	return err
}

// readFull reads all names that were claimed since a minute before the last full read, so
// also names that were committed late. It also checks whether the ledger's clock was set
// back by more than a minute. New names may then have times that were read before, so
// readFull requests a rebuild of all views.
func (f *nameReplicator) readFull(ctx context.Context) error {
	began := time.Now()
	clock, err := f.NameSource.Clock(ctx)
	if err != nil {
		return err
	}
	whole := f.watermark.Load()
	if err := f.readFrom(ctx, min(whole, clock), clock, fullReadOverlap); err != nil {
		return err
	}
	if clock < whole-fullReadOverlap.Milliseconds() {
		for _, k := range f.views {
			k.requestRebuild(reasonClock)
		}
	}
	f.fullReadAt, f.newestAt = began, clock
	f.watermark.Store(clock)
	return nil
}

// readFrom reads all names from the time from on, and those up to overlap before it. After
// the ledger's clock was set back, it reads only up to overlap after the clock. Otherwise
// it would read all later names each time until the clock has caught up.
func (f *nameReplicator) readFrom(ctx context.Context, from, clock int64, overlap time.Duration) error {
	to := int64(math.MaxInt64)
	if f.highestAt > clock {
		to = clock + overlap.Milliseconds()
	}
	return f.NameSource.NamesBetween(ctx, from-overlap.Milliseconds(), to, func(game, skeleton string, at int64) {
		f.newestAt, f.highestAt = max(f.newestAt, at), max(f.highestAt, at)
		if k := f.views[game]; k != nil {
			k.addSkeleton(skeleton)
		}
	})
}
