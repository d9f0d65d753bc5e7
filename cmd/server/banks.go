package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"laststand/internal/ledger"
	"laststand/internal/lobby"
	"laststand/internal/quiz"
	"laststand/internal/quiz/bank"
)

// bankCheckInterval is how often a node checks whether a bank was imported.
const banksEvery = 5 * time.Second

// banks has the questions of each game in memory: from the built-in bank, and from banks that
// operators imported into the ledger. It is safe for concurrent use.
type banks struct {
	config   *config
	ledger   *ledger.Ledger
	log      *slog.Logger
	revision int64                            // of the banks in the ledger, at the last load; only Run changes it
	pools    atomic.Pointer[map[string]pools] // by game
}

// pools has the questions of one game, ready to draw from.
type pools struct {
	all, hosts *bank.Pool            // the banks of the key banks; these and the banks of host_banks
	byBank     map[string]*bank.Pool // each bank, by name
	ofHosts    map[string]bool       // by bank: whether only arenas of hosts may use it
}

// openBanks loads the banks of all games. It fails if a bank does not exist, or if a game has
// too few questions for a duel.
func openBanks(ctx context.Context, c *config, l *ledger.Ledger, log *slog.Logger) (*banks, error) {
	b := &banks{config: c, ledger: l, log: log}
	var err error
	if b.revision, err = l.BankRevision(ctx); err != nil {
		return nil, err
	}
	return b, b.load(ctx)
}

// Run reloads the banks after an import, until ctx ends.
func (b *banks) Run(ctx context.Context) error {
	tick := time.NewTicker(banksEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := b.refresh(ctx); err != nil && !errors.Is(err, context.Canceled) {
			b.log.Warn("question bank reload failed; keeping the loaded banks", "error", err)
		}
	}
}

// reloadIfChanged loads all banks again if their revision in the ledger has changed.
func (b *banks) refresh(ctx context.Context) error {
	revision, err := b.ledger.BankRevision(ctx)
	if err != nil || revision == b.revision {
		return err
	}
	if err := b.load(ctx); err != nil {
		return err
	}
	b.revision = revision
	b.log.Info("question banks reloaded", "revision", revision)
	return nil
}

// load loads the banks of all games. After an error the loaded banks stay in use.
func (b *banks) load(ctx context.Context) error {
	var faults faults
	byGame := make(map[string]pools)
	for _, name := range b.config.gameNames() {
		g := b.config.Games[name]
		var loaded []*bank.Bank
		byBank, ofHosts := make(map[string]*bank.Pool), make(map[string]bool)
		for _, from := range slices.Concat(g.Banks, g.HostBanks) {
			one, err := loadBank(ctx, b.ledger, from)
			if err != nil {
				faults.addf("games.%s.%s: %w", name, bankList(g, from), err)
				continue
			}
			loaded = append(loaded, one)
			byBank[from] = bank.NewPool(one)
			ofHosts[from] = slices.Contains(g.HostBanks, from)
		}
		public := slices.DeleteFunc(slices.Clone(loaded), func(one *bank.Bank) bool { return ofHosts[one.Name] })
		all, hosts := bank.NewPool(public...), bank.NewPool(loaded...)
		byGame[name] = pools{all, hosts, byBank, ofHosts}
		if need := g.Duel.Questions; len(public) == len(g.Banks) && !all.HasEnough(bank.Spec{Count: need}) {
			faults.addf("games.%s.banks: a duel needs %d questions in one language, but the banks have %d questions in all languages",
				name, need, all.Count(bank.Spec{}))
		}
	}
	if err := faults.join(); err != nil {
		return err
	}
	b.pools.Store(&byGame)
	return nil
}

// bankListKey returns the configuration key whose list has the bank: banks or host_banks.
func bankList(g game, name string) string {
	if slices.Contains(g.HostBanks, name) {
		return "host_banks"
	}
	return "banks"
}

// loadBank reads the bank with a name, from the program (builtin) or from the ledger.
func loadBank(ctx context.Context, l *ledger.Ledger, name string) (*bank.Bank, error) {
	if name == bank.BuiltinName {
		return bank.Builtin()
	}
	questions, err := l.LoadBank(ctx, name)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil, fmt.Errorf("bank %q does not exist; import it with `server bank import --bank %s FILE`", name, name)
	}
	if err != nil {
		return nil, err
	}
	return &bank.Bank{Name: name, Questions: questions}, nil
}

// Count returns how many questions of a game match a filter. It implements lobby.Bank.
func (b *banks) Count(game string, w lobby.Filter) int {
	return b.pool(game).Count(spec(w, 0))
}

// Draw returns count random questions of a game that match a filter, preferably none in seen. It
// implements lobby.Bank.
func (b *banks) Draw(game string, w lobby.Filter, count int, seen map[string]struct{}) ([]quiz.Drawn, error) {
	return b.pool(game).Draw(spec(w, count), seen, newRand())
}

func newRand() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // seeded by the runtime's secure source; a match needs no more security
}

func (b *banks) pool(game string) *bank.Pool {
	if p := (*b.pools.Load())[game]; p.all != nil {
		return p.all
	}
	return bank.NewPool() // an empty pool, because the game is not configured
}

func spec(w lobby.Filter, count int) bank.Spec {
	return bank.Spec{Category: w.Category, Lang: w.Lang, Difficulty: strings.ToLower(w.Difficulty), Count: count}
}
