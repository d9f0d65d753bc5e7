package match

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

const (
	pollEvery = time.Second
	// sweepGraceMS is how long after its deadline a match is left to the
	// nodes that have its players.
	sweepGraceMS = 1000
)

// Run recovers what was missed, until ctx ends: matches whose deadline has
// passed and that no living node has advanced, pushes that this node has not
// delivered, and the count of results that wait for the ledger.
func (e *Engine) Run(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		e.attempt(ctx, "sweep of deadlines", e.sweep)
		e.attempt(ctx, "search for missed pushes", e.fillGaps)
		e.attempt(ctx, "count of unsettled results", e.countUnsettled)
	}
}

// attempt runs one round of a recovery; the next round is the retry.
func (e *Engine) attempt(ctx context.Context, what string, round func(context.Context) error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if err := round(ctx); err != nil && !errors.Is(err, context.Canceled) {
		e.metrics.rounds.WithLabelValues(what).Inc()
		e.Logger.Warn("a round of recovery failed; the next one makes up for it", "round", what, "error", err)
	}
}

// sweep advances what is overdue: the wheel's persistent twin.
func (e *Engine) sweep(ctx context.Context) error {
	ids, err := e.Index.Due(ctx, e.Now()-sweepGraceMS)
	if err != nil {
		return err
	}
	failed, first := 0, error(nil)
	for _, id := range ids {
		if err := e.takeUp(ctx, id); err != nil { // it must not hold up the others
			failed, first = failed+1, cmp.Or(first, err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d overdue matches: %w", failed, len(ids), first)
	}
	return nil
}

// takeUp advances an overdue match. One that is gone leaves the index.
func (e *Engine) takeUp(ctx context.Context, id string) error {
	l, err := e.live(ctx, id)
	if err == nil {
		e.metrics.swept.Inc()
		err = e.advance(ctx, l, View{})
	}
	if errors.Is(err, ErrNotFound) {
		return e.Index.Forget(ctx, id)
	}
	return err
}

// fillGaps looks for pushes of this node's matches that were not delivered
// here, and delivers them.
func (e *Engine) fillGaps(ctx context.Context) error {
	lives := e.unfinished()
	ids := make([]string, 0, len(lives))
	for id := range lives {
		ids = append(ids, id)
	}
	seqs, err := e.Index.Seqs(ctx, ids)
	if err != nil {
		return err
	}
	for id, l := range lives {
		if seq, ok := seqs[id]; ok && seq <= l.known().Seq {
			continue
		}
		v, err := e.read(ctx, l, l.known().Seq)
		if errors.Is(err, ErrNotFound) {
			e.drop(l)
			continue
		}
		if err != nil {
			return err
		}
		if len(v.Frames) > 0 {
			e.metrics.gaps.Inc()
		}
		e.follow(l, v)
	}
	return nil
}

// unfinished lists the matches here that are not known to be over.
func (e *Engine) unfinished() map[string]*live {
	e.mu.Lock()
	lives := maps.Clone(e.lives)
	e.mu.Unlock() // before the locks of the matches, which are held during reads
	maps.DeleteFunc(lives, func(_ string, l *live) bool { return l.known().Phase.ended() })
	return lives
}

func (e *Engine) countUnsettled(ctx context.Context) error {
	n, err := e.Index.Unsettled(ctx)
	if err != nil {
		return err
	}
	e.metrics.unsettled.Set(float64(n))
	e.overloaded.Store(n >= e.MaxUnsettled)
	return nil
}
