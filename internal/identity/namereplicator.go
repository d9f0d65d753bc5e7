package identity

import (
	"context"
	"maps"
	"slices"
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
	// Load returns the snapshot of a game, fs.ErrNotExist if there is none.
	Load(game string) ([]byte, error)
	// Save replaces the snapshot of a game.
	Save(game string, snapshot []byte) error
}

const (
	// readInterval is the time between two reads of new claims. Every node must know a
	// claimed name within a second.
	readInterval = 400 * time.Millisecond
	// Names may commit in another order than their times. So each read starts
	// readOverlap before the start of the last one. A name that took longer to commit
	// is found by a full read. There is one every fullReadInterval. It starts
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

	isLoaded      bool         // loadSnapshots has succeeded; only the read loop uses it
	readClock     int64        // when the last read started, by the ledger's clock, epoch ms; only the read loop uses it
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

func (r *nameReplicator) games() []string { return slices.Sorted(maps.Keys(r.views)) }
