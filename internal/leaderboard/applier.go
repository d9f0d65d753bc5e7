package leaderboard

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	pageRows   = 500             // rows of the ledger read at a time
	fruitless  = 100             // passes in a row that moved nothing, before Apply gives up
	applyEvery = 5 * time.Second // the safety net under Apply
	sweepEvery = time.Hour
	staleAfter = 48 * time.Hour // a copy that not even a day's turn was written to
)

// ErrContended means that others moved the boards at every try. They apply the
// same rows, so nothing is lost.
var ErrContended = errors.New("too many appliers at once")

// Applier keeps every game's boards a view of its ledger. Any number of them,
// on any nodes, may work at once: each write is a compare-and-set on the state
// that it was reckoned from, so that every row counts exactly once.
type Applier struct {
	games  map[string]Config
	turns  map[string]*turnstile
	ledger Ledger
	store  Store
	now    func() int64
	log    *slog.Logger
}

// ApplierOptions are all needed. Games are valid Configs. Now is epoch ms; it
// only dates copies of boards for Sweep and decides no day.
type ApplierOptions struct {
	Games  []Config
	Ledger Ledger
	Store  Store
	Now    func() int64
	Log    *slog.Logger
}

// NewApplier returns an applier that does nothing by itself until Run.
func NewApplier(o ApplierOptions) *Applier {
	a := &Applier{
		games: map[string]Config{}, turns: map[string]*turnstile{},
		ledger: o.Ledger, store: o.Store, now: o.Now, log: o.Log,
	}
	for _, c := range o.Games {
		a.games[c.Game] = c
		a.turns[c.Game] = newTurnstile()
	}
	return a
}

// Run applies every game's ledger at once and then every few seconds, should
// an Apply have failed or another node have died, and removes what old copies
// leave. It logs what fails, tries again, and returns nil when ctx ends.
func (a *Applier) Run(ctx context.Context) error {
	var games sync.WaitGroup
	for game := range a.games {
		games.Go(func() { a.keep(ctx, game) })
	}
	games.Wait()
	return nil
}

func (a *Applier) keep(ctx context.Context, game string) {
	apply := time.NewTicker(applyEvery)
	defer apply.Stop()
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	a.report(ctx, game, "apply", a.Apply(ctx, game))
	a.report(ctx, game, "sweep", a.sweep(ctx, game))
	for {
		select {
		case <-ctx.Done():
			return
		case <-apply.C:
			a.report(ctx, game, "apply", a.Apply(ctx, game))
		case <-sweep.C:
			a.report(ctx, game, "sweep", a.sweep(ctx, game))
		}
	}
}

func (a *Applier) report(ctx context.Context, game, step string, err error) {
	if err != nil && ctx.Err() == nil {
		a.log.ErrorContext(ctx, "leaderboards", "step", step, "game", game, "error", err)
	}
}

func (a *Applier) sweep(ctx context.Context, game string) error {
	return a.store.Sweep(ctx, game, a.games[game].Form(), a.now()-staleAfter.Milliseconds())
}

// Apply returns nil once the boards hold every row that the ledger held when
// it was called, and are served. Calls for one game at the same time share
// their work. It rebuilds boards that are lost, torn, of another form, or
// ahead of a ledger that was rolled back, beside the ones that are read.
// After an error it may be called again; whatever was applied stays.
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

func (a *Applier) catchUp(ctx context.Context, cfg Config) error {
	for tries := 0; tries < fruitless; tries++ {
		done, moved, err := a.pass(ctx, cfg)
		if err != nil && !errors.Is(err, ErrStale) {
			return err
		}
		if done {
			return nil
		}
		if moved {
			tries = 0
		}
	}
	return ErrContended
}

// pass applies one page of rows. Done means that boards with all rows are
// served, moved that the boards came nearer to it by rows.
func (a *Applier) pass(ctx context.Context, cfg Config) (done, moved bool, err error) {
	state, err := a.store.Find(ctx, cfg.Game, cfg.Form())
	if err != nil {
		return false, false, err
	}
	epoch := a.ledger.Epoch()
	if state.Stamp == "" || state.Mark.Epoch != epoch {
		return false, false, a.begin(ctx, cfg, epoch, state)
	}
	rows, holds, err := a.above(ctx, cfg.Game, state.Mark)
	if err != nil {
		return false, false, err
	}
	if !holds {
		return false, false, a.begin(ctx, cfg, epoch, state)
	}
	if err := a.apply(ctx, cfg, state, rows); err != nil {
		return false, false, err
	}
	if len(rows) == pageRows {
		return false, true, nil
	}
	if !state.Served { // seen to be served by the next pass
		return false, false, a.store.Publish(ctx, state)
	}
	return true, true, nil
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

// begin starts a new copy instead of one that cannot be carried on.
func (a *Applier) begin(ctx context.Context, cfg Config, epoch string, bad State) error {
	a.log.InfoContext(ctx, "building leaderboards", "game", cfg.Game, "form", cfg.Form(), "instead_of", bad.ID)
	return a.store.Begin(ctx, State{
		Generation: Generation{Game: cfg.Game, Form: cfg.Form(), ID: rand.Text()[:8]},
		Stamp:      rand.Text(),
		Mark:       Watermark{Epoch: epoch},
		At:         a.now(),
	}, bad.ID)
}

// apply commits rows to a copy.
func (a *Applier) apply(ctx context.Context, cfg Config, state State, rows []Row) error {
	if len(rows) == 0 {
		return nil
	}
	held, err := a.held(ctx, cfg, state.Generation, rows)
	if err != nil {
		return err
	}
	steps, err := plan(cfg, a.now(), state, rows, held)
	if err != nil {
		return err
	}
	return a.store.Commit(ctx, state.Generation, steps)
}

// held reads the entries that rows touch.
func (a *Applier) held(ctx context.Context, cfg Config, g Generation, rows []Row) (entries, error) {
	wants := cfg.wants(rows)
	if len(wants) == 0 {
		return entries{}, nil
	}
	found, err := a.store.Held(ctx, g, wants)
	if err != nil {
		return nil, err
	}
	held := entries{}
	for i, w := range wants {
		held[w.Board] = map[string]Held{}
		for _, h := range found[i] {
			held[w.Board][h.ID] = h
		}
	}
	return held, nil
}
