package leaderboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	pageRows  = 500 // rows of the ledger read at a time
	fruitless = 100 // passes in a row that moved nothing, before Apply gives up
)

// errLost means that there are no boards to apply rows to but those to be built.
var errLost = errors.New("the boards are lost")

// ErrContended means that others moved the boards at every try. They apply the
// same rows, so nothing is lost.
var ErrContended = errors.New("too many appliers at once")

// Applier keeps every game's boards a view of its ledger. Any number of them,
// on any nodes, may work at once: each write is a compare-and-set on the state
// that it was reckoned from, so that every row counts exactly once; a lease
// spares them from getting in each other's way.
type Applier struct {
	games   map[string]Config
	turns   map[string]*turnstile
	work    map[string]door // beside the leases, which do not keep a node from itself
	builds  map[string]door
	wakes   map[string]chan struct{} // there may be something to build
	turned  map[string]chan struct{} // a day is over, which leaves windows
	ready   readiness
	id      string // the holder of leases
	ledger  Ledger
	store   Store
	now     func() int64
	log     *slog.Logger
	metrics *metrics
}

// ApplierOptions are all needed. Games are valid Configs. Now is epoch ms; it
// only dates copies of boards for Sweep and decides no day.
type ApplierOptions struct {
	Games    []Config
	Ledger   Ledger
	Store    Store
	Now      func() int64
	Log      *slog.Logger
	Registry prometheus.Registerer
}

// NewApplier returns an applier that does nothing by itself until Run.
func NewApplier(o ApplierOptions) *Applier {
	a := &Applier{
		games: map[string]Config{}, turns: map[string]*turnstile{},
		work: map[string]door{}, builds: map[string]door{}, wakes: map[string]chan struct{}{}, turned: map[string]chan struct{}{}, id: rand.Text(),
		ready:  readiness{ready: map[string]bool{}, failing: map[string]time.Time{}},
		ledger: o.Ledger, store: o.Store, now: o.Now, log: o.Log, metrics: newMetrics(o.Registry),
	}
	for _, c := range o.Games {
		a.games[c.Game] = c
		a.turns[c.Game] = newTurnstile()
		a.work[c.Game], a.builds[c.Game] = newDoor(), newDoor()
		a.wakes[c.Game] = make(chan struct{}, 1)
		a.turned[c.Game] = make(chan struct{}, 1)
	}
	return a
}

// Run keeps the boards of every game until ctx ends: rows that an Apply has
// missed, the days that leave windows, and what old copies leave. It logs what
// fails, tries again, and returns nil.
func (a *Applier) Run(ctx context.Context) error {
	var games sync.WaitGroup
	for game := range a.games {
		games.Go(func() { a.keep(ctx, game) })
	}
	games.Wait()
	return nil
}

// Apply returns nil once the boards that readers see hold every row that the
// ledger held when it was called. Calls for one game at the same time share
// their work. It builds boards that are lost, torn, or ahead of a ledger that
// was rolled back. After an error it may be called again; whatever was applied stays.
func (a *Applier) Apply(ctx context.Context, game string) error {
	cfg, known := a.games[game]
	if !known {
		return fmt.Errorf("apply the ledger of %q: no such game", game)
	}
	err := a.turns[game].do(ctx, func() error { return a.catchUp(ctx, cfg) })
	if err != nil {
		return fmt.Errorf("apply the ledger of %q: %w", game, err)
	}
	return nil
}

// catchUp applies rows to the boards that readers see.
func (a *Applier) catchUp(ctx context.Context, own Config) error {
	began := time.Now()
	for range fruitless {
		done, err := a.try(ctx, own)
		if done {
			a.metrics.applied.WithLabelValues(own.Game).Observe(time.Since(began).Seconds())
			return nil
		}
		if errors.Is(err, errLost) {
			err = a.build(ctx, own)
		}
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
	}
	return ErrContended
}

// try applies rows, and reports whether readers see boards with all of them:
// not where they were given others meanwhile.
func (a *Applier) try(ctx context.Context, own Config) (done bool, err error) {
	cfg, err := a.seen(ctx, own)
	if err != nil {
		return false, err
	}
	err = a.alone(ctx, cfg, func() error { return a.rows(ctx, cfg) }, a.applied(ctx, cfg))
	if err != nil || cfg.Form() == own.Form() {
		return err == nil, err
	}
	now, err := a.seen(ctx, own)
	return err == nil && now.Form() == cfg.Form(), err
}

// seen is the configuration of the boards that readers see: the own one, or
// while its boards are not served the one that stands in for it.
func (a *Applier) seen(ctx context.Context, own Config) (Config, error) {
	state, err := a.store.Served(ctx, own.Game, own.Form())
	if err != nil || state.ID != "" {
		return own, err
	}
	other, found, err := standIn(ctx, a.store, own)
	if err != nil || !found {
		return own, err
	}
	a.wake(own.Game)
	return other, nil
}

// rows applies pages of rows to the copy that is served until there are none left.
func (a *Applier) rows(ctx context.Context, cfg Config) error {
	for tries := 0; tries < fruitless; tries++ {
		more, err := a.page(ctx, cfg)
		switch {
		case err == nil && !more:
			return nil
		case err == nil:
			tries = 0
			if err := a.renew(ctx, applyDuty(cfg), leaseTTL); err != nil {
				return err
			}
		case !errors.Is(err, ErrStale):
			return err
		}
	}
	return ErrContended
}

// page applies the next rows, and reports whether there may be more.
func (a *Applier) page(ctx context.Context, cfg Config) (more bool, err error) {
	state, err := a.store.Served(ctx, cfg.Game, cfg.Form())
	if err != nil {
		return false, err
	}
	if state.Stamp == "" || state.Mark.Epoch != a.ledger.Epoch() {
		return false, fmt.Errorf("%w: game %s: none, torn, or of another ledger", errLost, cfg.Game)
	}
	rows, holds, err := a.above(ctx, cfg.Game, state.Mark)
	if err != nil {
		return false, err
	}
	if !holds {
		return false, fmt.Errorf("%w: game %s: the ledger was rolled back behind position %d", errLost, cfg.Game, state.Mark.Pos)
	}
	behind := a.metrics.behind.WithLabelValues(cfg.Game)
	behind.Set(float64(len(rows)))
	var waits insideError
	switch err := a.apply(ctx, cfg, state, rows); {
	case errors.As(err, &waits):
		return true, a.finish(ctx, cfg, waits.day)
	case errors.Is(err, errTorn):
		return false, a.condemn(ctx, cfg, state, err)
	case err != nil:
		return false, err
	}
	if len(rows) == pageRows {
		return true, nil
	}
	behind.Set(0)
	return false, nil
}

// above returns the next rows above a watermark, and whether the ledger holds
// the watermark's row: one read tells both, so no rollback fits between.
func (a *Applier) above(ctx context.Context, game string, mark Watermark) (rows []Row, holds bool, err error) {
	if mark.Pos == 0 {
		rows, err = a.ledger.Rows(ctx, game, 0, pageRows)
		return rows, true, err
	}
	rows, err = a.ledger.Rows(ctx, game, mark.Pos-1, 1+pageRows)
	if err != nil || len(rows) == 0 || rows[0].Pos != mark.Pos || rows[0].ID != mark.RowID {
		return nil, false, err
	}
	return rows[1:], true, nil
}

// apply commits rows to a copy in that state. An insideError stops it at a row
// that has to wait; those before it are applied then.
func (a *Applier) apply(ctx context.Context, cfg Config, state State, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	wants := cfg.wants(state.Progress, rows)
	held, err := a.store.Held(ctx, state.Generation, wants)
	if err != nil {
		return err
	}
	steps, waits := plan(cfg, a.now(), state, rows, contentsOf(wants, held))
	if len(steps) == 0 {
		return waits
	}
	if err := a.store.Commit(ctx, state.Generation, steps); err != nil {
		return err
	}
	mark := steps[len(steps)-1].Mark
	a.metrics.rows.WithLabelValues(cfg.Game).Add(float64(mark.Pos - state.Mark.Pos))
	if mark.Day != state.Mark.Day {
		signal(a.turned[cfg.Game])
	}
	return waits
}
