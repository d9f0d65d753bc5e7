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

// RevocationsConfig configures a view of revocations. All fields but Registry are
// required. Now is epoch ms by the clock of tokens.
type RevocationsConfig struct {
	Store    RevocationStore
	Tokens   *Tokens // its stored keys have a revision in the store too
	Now      func() int64
	Logger   *slog.Logger
	Registry prometheus.Registerer // nil: no metrics
}

// Revocations is this node's view of all revocations in force. It reads changes
// every second, and at once after Wake. While the store is unreachable it keeps
// what it knows, and new revocations wait. It is safe for concurrent use. A nil
// view refuses no token.
type Revocations struct {
	RevocationsConfig
	metrics     *revocationMetrics
	wakeup      chan struct{}
	onChange    func([]Revocation) // set before Run
	missedReads atomic.Int64       // how often the view may have missed revocations; see Claims.missedReads

	reading        sync.Mutex
	revision       int64 // the view has all revocations up to here; reading guards this field and the next four
	readAt         int64 // when it was last complete
	keysAt         int64 // the revision of the keys that Tokens has, at least
	removedEndedAt int64
	isFailing      bool // the last read failed

	mu     sync.RWMutex // writers also hold reading
	active map[revocationKey]Revocation
	counts map[RevocationKind]int
}

type revocationKey struct {
	game string
	kind RevocationKind
	id   string
}

const (
	revocationsEvery   = time.Second
	revocationsTimeout = 5 * time.Second // for each call of the store
	revocationsPage    = 1000
	removeEndedEvery   = time.Minute
)

// OpenRevocations reads all revocations. Run keeps the view up to date.
func OpenRevocations(ctx context.Context, c RevocationsConfig) (*Revocations, error) {
	b := &Revocations{RevocationsConfig: c, wakeup: make(chan struct{}, 1), onChange: func([]Revocation) {}, readAt: c.Now()}
	b.metrics = newRevocationMetrics(c.Registry, c.Now)
	b.replace(nil)
	if err := b.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("identity: bars: %w", err)
	}
	return b, nil
}

// OnChange sets a function that is called after each read with changes, one call at a
// time. It gets the changed revocations, none if only keys have changed. Call OnChange
// before Run.
func (b *Revocations) OnChange(f func([]Revocation)) { b.onChange = f }

// Wake makes the view read soon. It does not block.
func (b *Revocations) Wake() {
	select {
	case b.wakeup <- struct{}{}:
	default: // a read is due already
	}
}

// Run keeps the view up to date until ctx ends.
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

// Refresh reads the changes now. Its error is logged once per outage of the store.
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
			b.Logger.WarnContext(ctx, "bans and revocations cannot be read; those that are known stay in force, and new ones wait", "error", err)
		} else {
			b.Logger.InfoContext(ctx, "bans and revocations are read again")
		}
	}
	if err == nil {
		b.metrics.readAt.Store(b.Now())
	}
	b.removeEnded()
	return err
}

// read brings revocations and keys to the store's revision, each even if the other
// fails.
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

// withTimeout bounds one call of the store.
func withTimeout(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, revocationsTimeout)
	defer cancel()
	return ask(ctx)
}

// readChanged reads the changed revocations. It reads all of them if the store's
// revision is behind the view's, as after a restore. It also does so if the store
// may have deleted ended ones that the view has not seen. Until all are read, the
// known ones stay in force. wasMissed means that others may have been missed.
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

// readSince reads by pages what has changed after a revision. With an error it returns
// the pages before it.
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
