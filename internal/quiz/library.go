package quiz

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"laststand/internal/timer"
)

// BankStore has the imported banks; *ledger.QuestionBanks implements it. LoadBank returns
// ErrNoBank for an unknown name. BankRevision grows with every change of any bank.
type BankStore interface {
	LoadBank(ctx context.Context, name string) ([]Question, error)
	BankRevision(ctx context.Context) (int64, error)
}

// LoadBank reads the bank with a name, from the program (builtin) or from a store.
func LoadBank(ctx context.Context, store BankStore, name string) (*Bank, error) {
	if name == BuiltinBankName {
		return BuiltinBank()
	}
	questions, err := store.LoadBank(ctx, name)
	if errors.Is(err, ErrNoBank) {
		return nil, fmt.Errorf("bank %q does not exist; import it with `server bank import --bank %s FILE`", name, name)
	}
	if err != nil {
		return nil, err
	}
	return &Bank{Name: name, Questions: questions}, nil
}

// GameBanks are the names of the banks of a game. Only arenas of hosts use HostBanks. A duel needs
// DuelQuestions questions in one language.
type GameBanks struct {
	Game             string
	Banks, HostBanks []string
	DuelQuestions    int
}

// libraryInterval is how often a library checks whether a bank was imported.
const libraryInterval = 5 * time.Second

// Library has the questions of each game in memory, and loads them again after an import.
// It is safe for concurrent use.
type Library struct {
	store    BankStore
	games    []GameBanks
	log      *slog.Logger
	revision int64       // of the store, at the last load; only Run changes it
	isStale  atomic.Bool // the revision does not tell whether a bank has changed
	pools    atomic.Pointer[map[Source]*Pool]
}

// OpenLibrary loads the banks of all games. It fails if a bank does not exist, or if a game
// has too few questions for a duel.
func OpenLibrary(ctx context.Context, store BankStore, games []GameBanks, log *slog.Logger) (*Library, error) {
	l := &Library{store: store, games: games, log: log, revision: -1}
	return l, l.reloadIfChanged(ctx)
}

// Run loads the banks again after each import, until ctx ends. After an error the loaded
// banks stay in use.
func (l *Library) Run(ctx context.Context) error {
	timer.Every(ctx, libraryInterval, timer.LogFailures(l.log, "question bank reload", l.reloadIfChanged))
	return nil
}

// LedgerWentBack makes Run load all banks again, because the ledger may have other ones now.
func (l *Library) LedgerWentBack() { l.isStale.Store(true) }

func (l *Library) reloadIfChanged(ctx context.Context) error {
	revision, err := l.store.BankRevision(ctx)
	if err != nil || revision == l.revision && !l.isStale.Load() {
		return err
	}
	l.isStale.Store(false)
	pools, err := l.load(ctx)
	if err != nil {
		l.isStale.Store(true)
		return err
	}
	l.pools.Store(&pools)
	if l.revision >= 0 {
		l.log.InfoContext(ctx, "question banks reloaded", "revision", revision)
	}
	l.revision = revision
	return nil
}

// load loads the banks of all games. Its error lists all faults, by their setting.
func (l *Library) load(ctx context.Context) (map[Source]*Pool, error) {
	pools := make(map[Source]*Pool)
	var errs []error
	for _, game := range l.games {
		public, err := l.loadAll(ctx, game.Game, "banks", game.Banks)
		hostOnly, hostErr := l.loadAll(ctx, game.Game, "host_banks", game.HostBanks)
		errs = append(errs, err, hostErr)
		all := slices.Concat(public, hostOnly)
		forPlayers := NewPool(public...)
		forHosts := forPlayers
		if len(hostOnly) > 0 {
			forHosts = NewPool(all...)
		}
		pools[Source{game.Game, "", false}], pools[Source{game.Game, "", true}] = forPlayers, forHosts
		for i, bank := range all {
			pool := forHosts // of the only bank
			if len(all) > 1 {
				pool = NewPool(bank)
			}
			pools[Source{game.Game, bank.Name, true}] = pool
			if i < len(public) {
				pools[Source{game.Game, bank.Name, false}] = pool
			}
		}
		if err == nil && forPlayers.Count(Filter{}) < game.DuelQuestions {
			errs = append(errs, fmt.Errorf("games.%s.banks: a duel needs %d questions in one language, but the banks have %d questions in all languages",
				game.Game, game.DuelQuestions, forPlayers.Count(Filter{})))
		}
	}
	return pools, errors.Join(errs...)
}

func (l *Library) loadAll(ctx context.Context, game, setting string, names []string) (banks []*Bank, err error) {
	for _, name := range names {
		bank, loadErr := LoadBank(ctx, l.store, name)
		if loadErr != nil {
			err = errors.Join(err, fmt.Errorf("games.%s.%s: %w", game, setting, loadErr))
			continue
		}
		banks = append(banks, bank)
	}
	return banks, err
}

// Source names the questions of one bank of a game, or of all its banks if Bank is "". Banks that are
// reserved for hosts are included only if ForHost is set.
type Source struct {
	Game, Bank string
	ForHost    bool
}

// pool returns the questions of a source. An unknown game or bank has an empty pool.
func (l *Library) pool(source Source) *Pool {
	if pool := (*l.pools.Load())[source]; pool != nil {
		return pool
	}
	return NewPool()
}

// Count is Pool.Count for a source.
func (l *Library) Count(source Source, filter Filter) int { return l.pool(source).Count(filter) }

// Draw is Pool.Draw for a source. seen may be nil.
func (l *Library) Draw(source Source, filter Filter, count int, seen func(id string) bool) ([]DrawnQuestion, error) {
	return l.pool(source).Draw(filter, count, seen, newRand())
}

// Pick is Pool.Pick for a source.
func (l *Library) Pick(source Source, ids []string) ([]DrawnQuestion, error) {
	return l.pool(source).Pick(ids, newRand())
}

func newRand() *rand.Rand {
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) //nolint:gosec // seeded by the runtime's secure source; a match needs no more security
}
