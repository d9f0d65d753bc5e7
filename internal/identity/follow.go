package identity

import (
	"context"
	"io"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Named reads the nicknames that are claimed, for the view of them in each node.
// Instants are epoch ms by the ledger's own clock: no node's has a say.
type Named interface {
	// NamedBetween calls f for every nickname of any game that was claimed from one
	// instant to another, both included, in the order of their instants. Claims
	// commit out of this order: it gives those that are committed.
	NamedBetween(ctx context.Context, from, to int64, f func(game, skeleton string, at int64)) error
	// EachSkeleton calls f for every nickname of a game that was claimed before
	// the call, but for those renamed meanwhile.
	EachSkeleton(ctx context.Context, game string, f func(skeleton string)) error
	// CountNames is how many nicknames a game has.
	CountNames(ctx context.Context, game string) (int64, error)
	// Clock is the ledger's.
	Clock(ctx context.Context) (int64, error)
}

// Snapshots keeps what the views knew, for the next start. One may be old, lost
// or of another ledger.
type Snapshots interface {
	// Open gives the snapshot of a game; fs.ErrNotExist if there is none.
	Open(game string) (io.ReadCloser, error)
	// Save keeps what write writes, if it ends without an error, and else what
	// there was before.
	Save(game string, write func(io.Writer) error) error
}

const (
	// followEvery is how often the names claimed since are read: they are to be
	// known everywhere within a second.
	followEvery = 400 * time.Millisecond
	// overlap is how far behind the newest name is read again each time, as names
	// commit out of the order of their instants. One that took longer to commit is
	// found by the reading every wholeEvery, which goes back wholeOverlap behind
	// where the former one began.
	overlap      = time.Second
	wholeEvery   = 20 * time.Second
	wholeOverlap = time.Minute
	// The readings but the first, which has more to catch up with, end after so long.
	readPatience  = 5 * time.Second
	wholePatience = 30 * time.Second
)

// follower keeps the views of all games in step with the ledger.
type follower struct {
	Config
	known   map[string]*knownNames
	metrics *nameMetrics

	newest  int64        // up to where names were read, by the ledger's clock. The reading loop's
	highest int64        // the highest instant ever read: above the clock once that is set back. The same
	wholeAt time.Time    // when the last whole reading began. The reading loop's
	whole   atomic.Int64 // the same by the ledger's clock: the watermark
	readAt  atomic.Int64 // when the last reading ended, after born
	born    time.Time

	readings chan struct{}  // a reading has succeeded: it is time to look what is to be built
	kept     map[string]int // of each game, how many names its last snapshot has. The keeping loop's, before and after it run's
}

func newFollower(c Config, known map[string]*knownNames) *follower {
	f := &follower{Config: c, known: known, born: time.Now(), readings: make(chan struct{}, 1), kept: map[string]int{}}
	f.metrics = newNameMetrics(c.Registry, known, f.age)
	return f
}

// age is how long ago the ledger was read.
func (f *follower) age() time.Duration { return time.Since(f.born) - time.Duration(f.readAt.Load()) }

// run keeps the views until ctx ends, and then snapshots of them.
func (f *follower) run(ctx context.Context) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	if !f.insist(ctx, tick, f.begin) || !f.insist(ctx, tick, f.catchUp) {
		return
	}
	var keeping sync.WaitGroup
	keeping.Go(func() { f.keep(ctx) })
	for f.insist(ctx, tick, f.read) {
		f.orderFull()
		f.signal()
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	keeping.Wait()
	f.saveAll()
}

// insist calls until it succeeds, and logs the first failure and the end of them.
// False: ctx has ended.
func (f *follower) insist(ctx context.Context, again *time.Ticker, call func(context.Context) error) bool {
	for failed := false; ; failed = true {
		if ctx.Err() != nil {
			return false
		}
		err := call(ctx)
		switch {
		case err == nil:
			f.readAt.Store(int64(time.Since(f.born)))
			if failed {
				f.Logger.InfoContext(ctx, "nicknames are read again")
			}
			return true
		case ctx.Err() != nil:
			return false
		}
		f.metrics.failures.Inc()
		if !failed {
			f.Logger.WarnContext(ctx, "nicknames of other nodes cannot be read; the next round makes up for it", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-again.C:
		}
	}
}

// signal tells the loop that keeps views to look; one that is busy will.
func (f *follower) signal() {
	select {
	case f.readings <- struct{}{}:
	default:
	}
}

// read adds what was claimed since the last time.
func (f *follower) read(ctx context.Context) error {
	passed := time.Since(f.wholeAt)
	if passed >= wholeEvery {
		ctx, cancel := context.WithTimeout(ctx, wholePatience)
		defer cancel()
		return f.readWhole(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, readPatience)
	defer cancel()
	clock, highest := f.whole.Load()+passed.Milliseconds(), f.highest
	err := f.readFrom(ctx, f.newest, clock, overlap)
	if f.highest > max(highest, clock+overlap.Milliseconds()) {
		f.wholeAt = time.Time{} // the clock was put forward: ask for it next time
	}
	return err
}

// readWhole reads all that was claimed since, however late it was committed, and
// sees whether the ledger's clock was set back. By more than a minute: then names
// may have been claimed at instants that had been read already.
func (f *follower) readWhole(ctx context.Context) error {
	began := time.Now()
	clock, err := f.Named.Clock(ctx)
	if err != nil {
		return err
	}
	whole := f.whole.Load()
	if err := f.readFrom(ctx, min(whole, clock), clock, wholeOverlap); err != nil {
		return err
	}
	if clock < whole-wholeOverlap.Milliseconds() {
		for _, k := range f.known {
			k.order(byClock)
		}
	}
	f.wholeAt, f.newest = began, clock
	f.whole.Store(clock)
	return nil
}

// readFrom reads from so much before an instant to the end; to so much after the
// ledger's clock where that was set back, lest all that is above it is read each
// time until it has caught up.
func (f *follower) readFrom(ctx context.Context, from, clock int64, overlap time.Duration) error {
	to := int64(math.MaxInt64)
	if f.highest > clock {
		to = clock + overlap.Milliseconds()
	}
	return f.Named.NamedBetween(ctx, from-overlap.Milliseconds(), to, func(game, skeleton string, at int64) {
		f.newest, f.highest = max(f.newest, at), max(f.highest, at)
		if k := f.known[game]; k != nil {
			k.addSkeleton(skeleton)
		}
	})
}
