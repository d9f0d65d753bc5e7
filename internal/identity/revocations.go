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

// RevocationsConfig configures Revocations. All fields except Registry are required.
type RevocationsConfig struct {
	Store    RevocationStore
	Tokens   *Tokens      // reloads its stored keys when their revision in the store changes
	Now      func() int64 // epoch ms, by the same clock as Tokens
	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: no metrics
}

// Revocations has all revocations in force, in the memory of this node. It reads changes
// from the store every second, and immediately after Wake. While the store is unreachable,
// the known revocations stay in force and new ones wait. It is safe for concurrent use. A
// nil *Revocations refuses no token.
type Revocations struct {
	RevocationsConfig
	metrics     *revocationMetrics
	wakeup      chan struct{}
	onChange    func([]Revocation) // set before Run
	missedReads atomic.Int64       // how often this node may have missed revocations; see Claims.missedReads

	reading        sync.Mutex
	revision       int64 // all changes up to this revision are in active; readMu guards this field and the next four
	readAt         int64 // when active last had all changes, epoch ms
	keysAt         int64 // Tokens has the keys of this revision or a later one
	removedEndedAt int64 // when removeEnded last ran, epoch ms
	isFailing      bool  // the last read failed

	mu     sync.RWMutex                 // writers also hold readMu
	active map[revocationKey]Revocation // may still contain ended ones
	counts map[RevocationKind]int       // how many of active are of each kind
}

type revocationKey struct {
	game string
	kind RevocationKind
	id   string
}

const (
	revocationsEvery   = time.Second
	revocationsTimeout = 5 * time.Second // for each call of the store
	revocationsPage    = 1000            // revocations per call of the store
	removeEndedEvery   = time.Minute     // between two removals of ended revocations
)

// OpenRevocations reads all revocations from the store. Run keeps them up to date.
func OpenRevocations(ctx context.Context, c RevocationsConfig) (*Revocations, error) {
	b := &Revocations{RevocationsConfig: c, wakeup: make(chan struct{}, 1), onChange: func([]Revocation) {}, readAt: c.Now()}
	b.metrics = newRevocationMetrics(c.Registry, c.Now)
	b.replace(nil)
	if err := b.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("identity: read bans and revocations: %w", err)
	}
	return b, nil
}

// OnChange sets the function that Refresh calls after each read that found changes, one
// call at a time. The function gets the changed revocations; none if only keys have
// changed. Call OnChange before Run.
func (b *Revocations) OnChange(f func([]Revocation)) { b.onChange = f }

// Wake makes Run read changes immediately. It does not block.
func (b *Revocations) Wake() {
	select {
	case b.wakeup <- struct{}{}:
	default: // a read is already requested
	}
}

// Run keeps the revocations up to date until ctx ends, and then returns nil.
func (b *Revocations) Run(ctx context.Context) error {
	tick := time.NewTicker(revocationsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-b.wakeup:
		}
		if err := b.Refresh(ctx); err != nil && ctx.Err() == nil {
			b.metrics.failures.Inc()
		}
	}
}

// Refresh reads the changes now. It logs the first error of an outage of the store, and the
// recovery.
func (b *Revocations) Refresh(ctx context.Context) error {
	b.reading.Lock()
	defer b.reading.Unlock()
	found, moved, err := b.read(ctx)
	if moved {
		b.onChange(found)
	}
	if faulty := err != nil; faulty != b.isFailing {
		b.isFailing = faulty
		if faulty {
			b.Logger.WarnContext(ctx, "bans and revocations read failed; known ones stay in force, and new ones wait", "error", err)
		} else {
			b.Logger.InfoContext(ctx, "bans and revocations read recovered")
		}
	}
	if err == nil {
		b.metrics.readAt.Store(b.Now())
	}
	b.removeEnded()
	return err
}

// read reads revocations and keys up to the store's revision. If one of the two fails, it
// still reads the other. hasChanged is true if anything may have changed.
func (b *Revocations) read(ctx context.Context) (found []Revocation, moved bool, err error) {
	var revision Revision
	err = withTimeout(ctx, func(ctx context.Context) (err error) {
		revision, err = b.Store.Revision(ctx)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	found, wasMissed, err := b.readChanged(ctx, revision.Revocations)
	if revision.Keys == b.keysAt {
		return found, wasMissed || len(found) > 0, err
	}
	keysErr := withTimeout(ctx, b.Tokens.reload)
	if keysErr == nil {
		b.keysAt = revision.Keys
	}
	return found, wasMissed || len(found) > 0 || keysErr == nil, errors.Join(err, keysErr)
}

// withTimeout makes one call of the store, with the time limit revocationsCallTimeout.
func withTimeout(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, revocationsTimeout)
	defer cancel()
	return ask(ctx)
}

// readChanged reads the revocations that changed since the last read. It reads all
// revocations if the store's revision is lower than this node's, as after a restore. It
// also reads all if the store may have deleted ended ones that this node has not seen.
// Until it has read all, the known ones stay in force. mayHaveMissed means that this node
// may never learn of some revocations.
func (b *Revocations) readChanged(ctx context.Context, revision int64) (found []Revocation, wasMissed bool, err error) {
	now := b.Now()
	if revision < b.revision || now-b.readAt > RevocationsKept.Milliseconds()/2 {
		if found, err = b.readSince(ctx, 0, func([]Revocation) {}); err != nil {
			return nil, false, err
		}
		b.replace(extendSessionEnds(found, now))
		if wasMissed = now-b.readAt > RevocationsKept.Milliseconds(); wasMissed {
			b.missedReads.Add(1)
		}
		b.revision = 0
	} else if revision > b.revision {
		found, err = b.readSince(ctx, b.revision, func(page []Revocation) { b.apply(extendSessionEnds(page, now)) })
	}
	if len(found) > 0 {
		b.revision = found[len(found)-1].Seq
	}
	if err == nil {
		b.revision, b.readAt = max(b.revision, revision), now
	}
	return found, wasMissed, err
}

// readSince reads the revocations that changed after the change seq, in pages. It calls
// onPage for each page. After an error it returns the pages that it has read.
func (b *Revocations) readSince(ctx context.Context, seq int64, each func(page []Revocation)) (found []Revocation, err error) {
	for {
		var page []Revocation
		err := withTimeout(ctx, func(ctx context.Context) (err error) {
			page, err = b.Store.RevocationsSince(ctx, seq, revocationsPage)
			return err
		})
		if err != nil {
			return found, err
		}
		each(page)
		found = append(found, page...)
		if len(page) < revocationsPage {
			return found, nil
		}
		seq = page[len(page)-1].Seq
	}
}
