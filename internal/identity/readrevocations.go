package identity

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"laststand/internal/timer"
)

const (
	// revocationsReadInterval is the time between two reads. Every node must know a change within a
	// second.
	revocationsReadInterval = 500 * time.Millisecond
	revocationsCallTimeout  = 5 * time.Second // for each call of the store
	revocationsPageSize     = 1000            // revocations per call of the store
)

// OpenRevocations reads all revocations from the store. Run keeps them up to date.
func OpenRevocations(ctx context.Context, config RevocationsConfig) (*Revocations, error) {
	r := &Revocations{RevocationsConfig: config, onChange: func([]Revocation) {}, readAt: config.Now()}
	r.metrics = newRevocationMetrics(config.Registry, config.Now)
	r.apply(nil, true)
	if err := r.Refresh(ctx); err != nil {
		return nil, fmt.Errorf("identity: read bans and revocations: %w", err)
	}
	return r, nil
}

// Run keeps the revocations up to date until ctx ends, and then returns nil.
func (r *Revocations) Run(ctx context.Context) error {
	timer.Every(ctx, revocationsReadInterval, timer.LogFailures(r.Logger, "bans and revocations read", func(ctx context.Context) error {
		err := r.Refresh(ctx)
		if err != nil && ctx.Err() == nil {
			r.metrics.failures.Inc()
		}
		return err
	}))
	return nil
}

// Refresh reads the changes of revocations and keys now. If one of the two fails, it still reads the
// other. After an error, the known ones stay in force.
func (r *Revocations) Refresh(ctx context.Context) error {
	r.readMu.Lock()
	defer r.readMu.Unlock()
	defer r.removeEnded()
	revision, err := withTimeout(ctx, r.Store.Revision)
	if err != nil {
		return err
	}
	if r.mustReadAll.Swap(false) {
		r.revision, r.keysRevision = math.MaxInt64, -1 // no revision of the store, so both are read
	}
	changed, hasChanged, err := r.readRevocations(ctx, revision.Revocations)
	if revision.Keys != r.keysRevision {
		_, keysErr := withTimeout(ctx, func(ctx context.Context) (struct{}, error) { return struct{}{}, r.Tokens.reload(ctx) })
		if keysErr == nil {
			r.keysRevision, hasChanged = revision.Keys, true
		}
		err = errors.Join(err, keysErr)
	}
	if hasChanged {
		r.onChange(changed)
	}
	if err == nil {
		r.metrics.readAt.Store(r.Now())
	}
	return err
}

// withTimeout makes one call of the store, with the time limit revocationsCallTimeout.
func withTimeout[T any](ctx context.Context, call func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, revocationsCallTimeout)
	defer cancel()
	return call(ctx)
}

// readRevocations reads the revocations that changed since the last read. It reads all
// revocations if the store's revision is lower than this node's, as after a restore. It
// also reads all if the store may have deleted ended ones that this node has not seen.
// Until it has read all, the known ones stay in force. hasChanged is true if some changed, or
// if this node may never learn of some.
func (r *Revocations) readRevocations(ctx context.Context, revision int64) (changed []Revocation, hasChanged bool, err error) {
	now, since := r.Now(), r.revision
	mustReadAll := revision < since || now-r.readAt > EndedRevocationTTL.Milliseconds()/2
	if mustReadAll {
		since = 0
	}
	if since != revision || mustReadAll {
		if changed, err = r.readSince(ctx, since); err != nil && mustReadAll {
			return nil, false, err
		}
		r.apply(prolongRevocations(changed, now), mustReadAll)
	}
	mayHaveMissed := now-r.readAt > EndedRevocationTTL.Milliseconds()
	if mayHaveMissed {
		r.missedReads.Add(1)
	}
	if len(changed) > 0 {
		since = changed[len(changed)-1].Seq
	}
	if err == nil {
		since, r.readAt = max(since, revision), now
	}
	r.revision = since
	return changed, mayHaveMissed || len(changed) > 0, err
}

// readSince reads the revocations that changed after the change seq, in pages. After an error
// it returns those of the pages that it has read.
func (r *Revocations) readSince(ctx context.Context, seq int64) (found []Revocation, err error) {
	for {
		page, err := withTimeout(ctx, func(ctx context.Context) ([]Revocation, error) {
			return r.Store.RevocationsSince(ctx, seq, revocationsPageSize)
		})
		found = append(found, page...)
		if err != nil || len(page) < revocationsPageSize {
			return found, err
		}
		seq = page[len(page)-1].Seq
	}
}

// prolongRevocations returns a copy of revocations that this node learns of now. It extends
// those of erased and unlinked players to SessionEndWindow from now, because this node may
// have been cut off from the store. It does not extend those that were lifted.
func prolongRevocations(page []Revocation, now int64) []Revocation {
	extended := slices.Clone(page)
	for i, revocation := range extended {
		if (revocation.Kind == KindErased || revocation.Kind == KindUnlinked) && revocation.EndsAt > revocation.ChangedAt {
			extended[i].EndsAt = max(revocation.EndsAt, now+SessionEndWindow.Milliseconds())
		}
	}
	return extended
}
