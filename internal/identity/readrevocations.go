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

// Refresh reads the changes now. After an error, the known ones stay in force.
func (r *Revocations) Refresh(ctx context.Context) error {
	r.readMu.Lock()
	defer r.readMu.Unlock()
	changed, hasChanged, err := r.readChanges(ctx)
	if hasChanged {
		r.onChange(changed)
	}
	if err == nil {
		r.metrics.readAt.Store(r.Now())
	}
	r.removeEnded()
	return err
}

// readChanges reads revocations and keys up to the store's revision. If one of the two fails, it
// still reads the other. hasChanged is true if anything may have changed.
func (r *Revocations) readChanges(ctx context.Context) (changed []Revocation, hasChanged bool, err error) {
	var revision Revision
	err = withTimeout(ctx, func(ctx context.Context) (err error) {
		revision, err = r.Store.Revision(ctx)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	if r.mustReadAll.Swap(false) {
		r.revision, r.keysRevision = math.MaxInt64, -1 // no revision of the store, so both are read
	}
	changed, mayHaveMissed, err := r.readRevocations(ctx, revision.Revocations)
	if revision.Keys == r.keysRevision {
		return changed, mayHaveMissed || len(changed) > 0, err
	}
	keysErr := withTimeout(ctx, r.Tokens.reload)
	if keysErr == nil {
		r.keysRevision = revision.Keys
	}
	return changed, mayHaveMissed || len(changed) > 0 || keysErr == nil, errors.Join(err, keysErr)
}

// withTimeout makes one call of the store, with the time limit revocationsCallTimeout.
func withTimeout(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, revocationsCallTimeout)
	defer cancel()
	return call(ctx)
}

// readRevocations reads the revocations that changed since the last read. It reads all
// revocations if the store's revision is lower than this node's, as after a restore. It
// also reads all if the store may have deleted ended ones that this node has not seen.
// Until it has read all, the known ones stay in force. mayHaveMissed means that this node
// may never learn of some revocations.
func (r *Revocations) readRevocations(ctx context.Context, revision int64) (changed []Revocation, mayHaveMissed bool, err error) {
	now := r.Now()
	if revision < r.revision || now-r.readAt > EndedRevocationTTL.Milliseconds()/2 {
		if changed, err = r.readSince(ctx, 0); err != nil {
			return nil, false, err
		}
		r.apply(prolongRevocations(changed, now), true)
		if mayHaveMissed = now-r.readAt > EndedRevocationTTL.Milliseconds(); mayHaveMissed {
			r.missedReads.Add(1)
		}
		r.revision = 0
	} else if revision > r.revision {
		changed, err = r.readSince(ctx, r.revision)
		r.apply(prolongRevocations(changed, now), false)
	}
	if len(changed) > 0 {
		r.revision = changed[len(changed)-1].Seq
	}
	if err == nil {
		r.revision, r.readAt = max(r.revision, revision), now
	}
	return changed, mayHaveMissed, err
}

// readSince reads the revocations that changed after the change seq, in pages. After an error
// it returns those of the pages that it has read.
func (r *Revocations) readSince(ctx context.Context, seq int64) (found []Revocation, err error) {
	for {
		var page []Revocation
		err := withTimeout(ctx, func(ctx context.Context) (err error) {
			page, err = r.Store.RevocationsSince(ctx, seq, revocationsPageSize)
			return err
		})
		if err != nil {
			return found, err
		}
		found = append(found, page...)
		if len(page) < revocationsPageSize {
			return found, nil
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
