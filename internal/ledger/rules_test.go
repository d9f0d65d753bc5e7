package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/identity"
	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

// newRules are later rules than those of this program; they ignore hyphens.
var newRules = skeletonRules{nickname.RulesVersion + 1, func(name string) (string, error) {
	return strings.ReplaceAll(strings.ToLower(name), "-", ""), nil
}, 7}

// migrateBy migrates the skeletons as a program with other rules does.
func (s *Names) migrateBy(ctx context.Context, rules skeletonRules) (map[string]int, error) {
	other := *s
	other.rules = rules
	return other.MigrateSkeletons(ctx)
}

func newGuest(n int, name, skeleton string) identity.NewPlayer {
	return identity.NewPlayer{Game: game, ID: fmt.Sprint("g", n), DeviceHash: fmt.Sprint("d", n), Nickname: name, Skeleton: skeleton, JoinedAt: 1}
}

// Programs with older and with newer rules run together. Once skeletons follow the newer
// rules, claims by older rules fail, so that no lookalike of another name remains.
func TestClaimsByOldRulesFailAfterTheMigration(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		older, newer := openLedger(t, db), openLedger(t, db)
		newer.Names.rules.version = newRules.version
		addPlayer(t, older, "p1")
		if _, _, err := older.Players.CreateGuest(t.Context(), newGuest(0, "A-da", "a-da")); err != nil {
			t.Fatal(err)
		}

		const claimers = 4
		var next atomic.Int64
		claimed, respelt := make(chan struct{}, claimers), make(chan struct{})
		runConcurrently(claimers+1, func(i int) {
			if i == claimers {
				for range claimers { // it begins beside them
					<-claimed
				}
				if _, err := newer.Names.migrateBy(t.Context(), newRules); err != nil {
					t.Error(err)
				}
				close(respelt)
				return
			}
			for over := false; !over; { // one claim at least begins after the respelling
				select {
				case <-respelt:
					over = true
				default:
				}
				n := next.Add(1)
				name := fmt.Sprint("N-", n)
				_, _, err := older.Players.CreateGuest(t.Context(), newGuest(int(n), name, strings.ToLower(name)))
				select {
				case claimed <- struct{}{}:
				default:
				}
				if errors.Is(err, identity.ErrOldRules) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
			t.Error("claims by old rules went on after the respelling")
		})
		for id, skeleton := range newer.skeletons(t) {
			if strings.Contains(skeleton, "-") {
				t.Errorf("%s is left behind with %q", id, skeleton)
			}
		}
		checkOutdated(t, older)
		if _, _, err := newer.Players.CreateGuest(t.Context(), newGuest(int(next.Add(1)), "Ada", "ada")); !errors.Is(err, identity.ErrNicknameTaken) {
			t.Errorf("the newer program on a name of before: %v", err)
		}
		if err := newer.Names.Rename(t.Context(), game, "g0", "Grace", "grace"); err != nil {
			t.Errorf("the newer program: %v", err)
		}
	})
}

// checkOutdated checks that a program with old rules claims no name, and still serves
// existing players.
func checkOutdated(t *testing.T, l *Ledger) {
	t.Helper()
	for what, err := range map[string]error{
		"a guest":            errorOf(l.Players.CreateGuest(t.Context(), newGuest(-1, "Eva", "eva"))),
		"a guest, taken":     errorOf(l.Players.CreateGuest(t.Context(), newGuest(-1, "Nick p1", "nickp1"))),
		"an own player":      errorOf(l.Players.EnsurePlayer(t.Context(), identity.NewPlayer{Game: game, ID: "sub", Nickname: "Eva", Skeleton: "eva", JoinedAt: 1})),
		"a new name":         l.Names.Rename(t.Context(), game, "p1", "Eva", "eva"),
		"the start":          func() error { _, err := l.Names.MigrateSkeletons(t.Context()); return err }(),
		"a player of nobody": l.Names.Rename(t.Context(), game, "nobody", "Eva", "eva"),
	} {
		if !errors.Is(err, identity.ErrOldRules) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := l.Players.Known(t.Context(), game, "sub"); !errors.Is(err, identity.ErrNotFound) {
		t.Errorf("the id of a player who was refused: %v", err)
	}
	if p, created, err := l.Players.CreateGuest(t.Context(), newGuest(0, "Eva", "eva")); err != nil || created || p.Nickname != "A-da" {
		t.Errorf("a known guest: %+v, %v, %v", p, created, err)
	}
}

func errorOf(_ identity.Player, _ bool, err error) error { return err }

// A migration of skeletons waits for a running claim, and also updates its name.
func TestSkeletonMigrationWaitsForClaims(t *testing.T) {
	t.Parallel()
	db := testenv.Database(t)
	older, newer := openLedger(t, db), openLedger(t, db)
	ended := make(chan error, 1)
	err := older.inTx(t.Context(), func(tx *transaction) error {
		slow := identity.NewPlayer{Game: game, ID: "slow", Nickname: "S-low", Skeleton: "s-low", JoinedAt: 1}
		err := older.Players.insertPlayers(t.Context(), tx, []*registration{{NewPlayer: slow}})
		if err != nil {
			ended <- nil
			return err
		}
		go func() { // ends once the claim is committed
			_, err := newer.Names.migrateBy(t.Context(), newRules)
			ended <- err
		}()
		return older.awaitLock(t.Context(), func() bool { return len(ended) > 0 })
	})
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if got := newer.skeletons(t)["slow"]; got != "slow" {
		t.Errorf("it has %q", got)
	}
}

// awaitLock returns when a transaction waits for a lock, or when over is closed.
func (l *Ledger) awaitLock(ctx context.Context, over func() bool) error {
	for waiting := 0; waiting == 0 && !over(); {
		err := l.readPool.QueryRowContext(ctx, "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&waiting)
		if err != nil {
			return err
		}
	}
	return nil
}

// Two registries use one ledger, and one of them has older rules from some time on. It
// logs that once, counts the players that it refuses, and serves existing players.
func TestARegistryWithOldRulesRefusesNewNames(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		logged := &warningCounter{}
		older, newer := newRegistry(t, openLedger(t, db), logged), newRegistry(t, openLedger(t, db), logged)
		newer.ledger.Names.rules.version = newRules.version
		q := identity.GuestRequest{Game: game, Device: "kT3vJ0w9Qm2xB7sLr5Yd8Ze1", Nickname: "A-da"}
		ada, err := older.Guest(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		must(newer.ledger.Names.migrateBy(t.Context(), newRules))(t)

		claims := identity.Claims{Subject: ada.Player.ID, Game: game, Role: identity.RolePlayer}
		stranger := identity.GuestRequest{Game: game, Device: "lT3vJ0w9Qm2xB7sLr5Yd8Ze1"}
		_, unnamed := older.Guest(t.Context(), stranger)
		_, renamed := older.Rename(t.Context(), claims, "Eva", identity.Requester{})
		_, asked := older.Available(t.Context(), game, "Eva", identity.Requester{})
		for _, err := range []error{unnamed, renamed, asked} {
			if !errors.Is(err, identity.ErrOldRules) {
				t.Errorf("the older node: %v", err)
			}
		}
		if again, err := older.Guest(t.Context(), q); err != nil || again.Player.ID != ada.Player.ID {
			t.Errorf("a known guest at the older node: %+v, %v", again, err)
		}
		if g, err := newer.Guest(t.Context(), stranger); err != nil || !g.New {
			t.Errorf("at the newer node: %+v, %v", g, err)
		}
		older.check(t, 3, 1)
		newer.check(t, 0, 0)
		if n := logged.warned.Load(); n != 1 {
			t.Errorf("said %d times", n)
		}
		// A registry that starts now logs it immediately, and starts.
		late := newRegistry(t, openLedger(t, db), logged)
		if err := late.MigrateSkeletons(t.Context()); err != nil || logged.warned.Load() != 2 {
			t.Errorf("an older node starts: %v, said %d times", err, logged.warned.Load())
		}
		late.check(t, 0, 1)
	})
}

// registry is a node's identity registry with its ledger and metrics.
type registry struct {
	*identity.Registry
	ledger  *Ledger
	metrics *prometheus.Registry
}

func newRegistry(t *testing.T, l *Ledger, logged *warningCounter) *registry {
	t.Helper()
	tokens, err := identity.OpenTokens(t.Context(), identity.TokensConfig{Games: []string{game}, Keys: l.TokenKeys, Now: func() int64 { return 1795212345678 }})
	if err != nil {
		t.Fatal(err)
	}
	r := &registry{ledger: l, metrics: prometheus.NewRegistry()}
	r.Registry = identity.Open(identity.Config{
		Tokens: tokens, Players: l.Players, Devices: l.Players, Names: l.Names, NameSource: l.Names, Epoch: l.Epoch(), Logger: slog.New(logged), Registry: r.metrics,
	})
	return r
}

// check checks how many players were refused because of old rules, and whether the metric
// reports old rules.
func (r *registry) check(t *testing.T, refused, outdated float64) {
	t.Helper()
	got := map[string]float64{}
	for _, family := range must(r.metrics.Gather())(t) {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				if label.GetName() == "reason" {
					name += " " + label.GetValue()
				}
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	if got["laststand_nickname_refusals_total rules"] != refused || got["laststand_nickname_rules_outdated"] != outdated {
		t.Errorf("%v refused, want %v; outdated %v, want %v", got["laststand_nickname_refusals_total rules"], refused, got["laststand_nickname_rules_outdated"], outdated)
	}
}

// warningCounter is a log handler that only counts warnings.
type warningCounter struct {
	slog.Handler
	warned atomic.Int64
}

func (c *warningCounter) Enabled(_ context.Context, level slog.Level) bool {
	return level == slog.LevelWarn
}

func (c *warningCounter) Handle(context.Context, slog.Record) error {
	c.warned.Add(1)
	return nil
}
