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
const bankCheckInterval = 5 * time.Second

// banks has the questions of each game in memory: from the built-in bank, and from banks that
// operators imported into the ledger. It is safe for concurrent use.
type banks struct {
	config   *config
	ledger   *ledger.QuestionBanks
	log      *slog.Logger
	revision int64                            // of the banks in the ledger, at the last load; only Run changes it
	pools    atomic.Pointer[map[string]pools] // by game
}

// pools has the questions of one game, ready to draw from.
type pools struct {
	public, withHostBanks *bank.Pool            // the banks in the setting banks; these and those in host_banks
	byBank                map[string]*bank.Pool // each bank, by name
	isHostBank            map[string]bool       // by bank: whether only arenas of hosts may use it
}

// openBanks loads the banks of all games. It fails if a bank does not exist, or if a game has
// too few questions for a duel.
func openBanks(ctx context.Context, c *config, l *ledger.QuestionBanks, log *slog.Logger) (*banks, error) {
	b := &banks{config: c, ledger: l, log: log}
	var err error
	if b.revision, err = l.BankRevision(ctx); err != nil {
		return nil, err
	}
	return b, b.load(ctx)
}

// Run reloads the banks after an import, until ctx ends.
func (b *banks) Run(ctx context.Context) error {
	tick := time.NewTicker(bankCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := b.reloadIfChanged(ctx); err != nil && !errors.Is(err, context.Canceled) {
			b.log.Warn("question bank reload failed; keeping the loaded banks", "error", err)
		}
	}
}

// reloadIfChanged loads all banks again if their revision in the ledger has changed.
func (b *banks) reloadIfChanged(ctx context.Context) error {
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
	var errs validationErrors
	byGame := make(map[string]pools)
	for _, game := range b.config.gameNames() {
		settings := b.config.Games[game]
		var loaded []*bank.Bank
		byBank, isHostBank := make(map[string]*bank.Pool), make(map[string]bool)
		for _, name := range slices.Concat(settings.Banks, settings.HostBanks) {
			loadedBank, err := loadBank(ctx, b.ledger, name)
			if err != nil {
				errs.addf("games.%s.%s: %w", game, bankListKey(settings, name), err)
				continue
			}
			loaded = append(loaded, loadedBank)
			byBank[name] = bank.NewPool(loadedBank)
			isHostBank[name] = slices.Contains(settings.HostBanks, name)
		}
		publicBanks := slices.DeleteFunc(slices.Clone(loaded), func(loadedBank *bank.Bank) bool { return isHostBank[loadedBank.Name] })
		public, withHostBanks := bank.NewPool(publicBanks...), bank.NewPool(loaded...)
		byGame[game] = pools{public, withHostBanks, byBank, isHostBank}
		if needed := settings.Duel.Questions; len(publicBanks) == len(settings.Banks) && !public.HasEnough(bank.DrawSpec{Count: needed}) {
			errs.addf("games.%s.banks: a duel needs %d questions in one language, but the banks have %d questions in all languages",
				game, needed, public.Count(bank.DrawSpec{}))
		}
	}
	if err := errs.join(); err != nil {
		return err
	}
	b.pools.Store(&byGame)
	return nil
}

// bankListKey returns the configuration key whose list has the bank: banks or host_banks.
func bankListKey(g gameConfig, name string) string {
	if slices.Contains(g.HostBanks, name) {
		return "host_banks"
	}
	return "banks"
}

// loadBank reads the bank with a name, from the program (builtin) or from the ledger.
func loadBank(ctx context.Context, l *ledger.QuestionBanks, name string) (*bank.Bank, error) {
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
func (b *banks) Count(game string, filter lobby.Filter) int {
	return b.pool(game).Count(bankSpec(filter, 0))
}

// Draw returns count random questions of a game that match a filter, preferably none in seen. It
// implements lobby.Bank.
func (b *banks) Draw(game string, filter lobby.Filter, count int, seen map[string]struct{}) ([]quiz.DrawnQuestion, error) {
	return b.pool(game).Draw(bankSpec(filter, count), seen, newRand())
}

func newRand() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // seeded by the runtime's secure source; a match needs no more security
}

func (b *banks) pool(game string) *bank.Pool {
	if p := (*b.pools.Load())[game]; p.public != nil {
		return p.public
	}
	return bank.NewPool() // an empty pool, because the game is not configured
}

func bankSpec(filter lobby.Filter, count int) bank.DrawSpec {
	return bank.DrawSpec{Category: filter.Category, Lang: filter.Lang, Difficulty: strings.ToLower(filter.Difficulty), Count: count}
}
