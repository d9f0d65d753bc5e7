package quiz

import (
	"context"
	"errors"
	"log/slog"
	"testing"
)

// oneBank is a store with one bank, always at the same revision.
type oneBank struct {
	err error
}

func (b *oneBank) BankRevision(context.Context) (int64, error) { return 1, nil }

func (b *oneBank) LoadBank(context.Context, string) ([]Question, error) {
	builtin, err := BuiltinBank()
	return builtin.Questions, errors.Join(b.err, err)
}

// After the ledger went back, banks are loaded again, although the revision is the same.
func TestBanksAreLoadedAgainAfterTheLedgerWentBack(t *testing.T) {
	t.Parallel()
	store := &oneBank{}
	library, err := OpenLibrary(t.Context(), store, []GameBanks{{Game: "demo", Banks: []string{"trivia"}, DuelQuestions: 1}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	pool := func() *Pool { return library.pool(Source{Game: "demo"}) }
	first := pool()
	reload := func() error { return library.reloadIfChanged(t.Context()) }
	if err := reload(); err != nil || pool() != first {
		t.Errorf("banks without a change were loaded: %v", err)
	}
	library.LedgerWentBack()
	store.err = errors.New("down")
	if err := reload(); !errors.Is(err, store.err) || pool() != first {
		t.Errorf("a failed load: %v", err)
	}
	store.err = nil
	if err := reload(); err != nil || pool() == first {
		t.Errorf("the banks were not loaded: %v", err)
	}
	second := pool()
	if err := reload(); err != nil || pool() != second {
		t.Errorf("the banks were loaded twice: %v", err)
	}
}
