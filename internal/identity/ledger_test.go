package identity_test

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/testenv"
)

const (
	demo   = "demo"
	secret = "kT3vJ0w9Qm2xB7sLr5Yd8Ze1"
	now    = int64(1795212345678) // time of the clocks of tests, in epoch ms
)

// newNode opens the registry of a node on a ledger.
func newNode(t testing.TB, l *ledger.Ledger) *identity.Registry {
	t.Helper()
	return newMeasuredNode(t, l, nil)
}

// newMeasuredNode opens the registry of a node on a ledger and registers its metrics.
func newMeasuredNode(t testing.TB, l *ledger.Ledger, metrics prometheus.Registerer) *identity.Registry {
	t.Helper()
	tokens, err := identity.OpenTokens(t.Context(), identity.TokensConfig{
		Games: []string{demo}, Keys: l, Now: func() int64 { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	return identity.Open(identity.Config{
		Tokens: tokens, Players: l, Devices: l, Names: l, NameSource: l, Epoch: l.Epoch(), Logger: slog.New(slog.DiscardHandler),
		Registry: metrics,
	})
}

func open(t testing.TB, db testenv.SQL) *ledger.Ledger {
	t.Helper()
	l, err := ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func TestTwoNodesShareOneLedger(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := open(t, db)
		a, b := newNode(t, l), newNode(t, l)
		first, err := a.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret, Nickname: "Ada"})
		if err != nil || !first.New {
			t.Fatalf("guest: %+v, %v", first, err)
		}
		again, err := b.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret})
		if err != nil || again.New || again.Player != first.Player {
			t.Errorf("at the other node: %+v, %v", again, err)
		}
		again, err = b.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret, Nickname: "\x00"})
		if err != nil || again.Player != first.Player {
			t.Errorf("a known device with an invalid nickname: %+v, %v", again, err)
		}
		c, err := b.Verify(t.Context(), first.Token)
		if err != nil {
			t.Fatalf("the other node refuses the token: %v", err)
		}
		if name, err := b.Rename(t.Context(), c, "Grace", identity.Requester{}); err != nil || name != "Grace" {
			t.Errorf("rename: %q, %v", name, err)
		}
		_, err = a.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret + "2", Nickname: "grace"})
		taken, ok := errors.AsType[*identity.TakenError](err)
		if !ok || len(taken.Suggestions) != 3 {
			t.Errorf("a nickname that was claimed at the other node: %v", err)
		}
		later := newNode(t, l)
		if got, err := later.Available(t.Context(), demo, "Grace", identity.Requester{}); err != nil || got.Available {
			t.Errorf("a node that starts later: %+v, %v", got, err)
		}
		if got, err := later.Available(t.Context(), demo, "Ada", identity.Requester{}); err != nil || !got.Available {
			t.Errorf("the former nickname: %+v, %v", got, err)
		}
	})
}

func TestOnlyOneOfManyGuestsGetsANickname(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := open(t, db)
		nodes := []*identity.Registry{newNode(t, l), newNode(t, l)}
		errs := make([]error, 20)
		var calls sync.WaitGroup
		for i := range errs {
			calls.Go(func() {
				q := identity.GuestRequest{Game: demo, Device: fmt.Sprint(secret, i), Nickname: "Ada"}
				_, errs[i] = nodes[i%2].Guest(t.Context(), q)
			})
		}
		calls.Wait()
		winners := 0
		for _, err := range errs {
			switch {
			case err == nil:
				winners++
			case !errors.Is(err, identity.ErrNicknameTaken):
				t.Error(err)
			}
		}
		if winners != 1 {
			t.Errorf("%d guests have the nickname, want 1", winners)
		}
	})
}

func TestConcurrentEnsuresCreateOnePlayer(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := open(t, db)
		nodes := []*identity.Registry{newNode(t, l), newNode(t, l)}
		got := make([]identity.Player, 20)
		var calls sync.WaitGroup
		for i := range got {
			calls.Go(func() {
				p, err := nodes[i%2].Ensure(t.Context(), identity.Claims{Subject: "operator:17", Game: demo, Role: identity.RolePlayer})
				if err != nil {
					t.Error(err)
				}
				got[i] = p
			})
		}
		calls.Wait()
		for _, p := range got {
			if p != got[0] || p.ID != "operator:17" {
				t.Errorf("%+v and %+v", p, got[0])
			}
		}
	})
}

// Two nodes run on one ledger. A name that is claimed or renamed at one is in the
// view of the other. With its snapshot, a third node starts without reading all
// names.
func TestNodesReadEachOthersNames(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l, folder := open(t, db), t.TempDir()
		a, b := start(t, l, folder), start(t, l, t.TempDir())
		a.awaitView(t)
		b.awaitView(t)
		has := func(r *runningNode, names float64) {
			t.Helper()
			waitUntil(t, fmt.Sprint(names, " names are in the view"), func() bool { return r.value(t, "names") == names })
		}
		ada, err := a.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret, Nickname: "Ada"})
		if err != nil {
			t.Fatal(err)
		}
		has(b, 1)
		c, err := b.Verify(t.Context(), ada.Token)
		if err == nil {
			_, err = b.Rename(t.Context(), c, "Grace", identity.Requester{})
		}
		if err != nil {
			t.Fatal(err)
		}
		has(a, 2)
		a.stop()
		later := start(t, l, folder)
		has(later, 2)
		if got := later.value(t, "snapshots_total", "loaded"); got != 1 {
			t.Errorf("%v snapshots loaded", got)
		}
		if got := later.value(t, "builds_total"); got != -1 {
			t.Errorf("%v views built", got)
		}
		if got, err := later.Available(t.Context(), demo, "Ada", identity.Requester{}); err != nil || !got.Available {
			t.Errorf("the former name: %+v, %v", got, err)
		}
		if mistaken, taken := later.value(t, "lookups_total", "false_positive"), later.value(t, "lookups_total", "taken"); mistaken != 1 || taken != 0 {
			t.Errorf("%v false positives, %v taken", mistaken, taken)
		}
	})
}
