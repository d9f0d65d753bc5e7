package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"laststand/internal/identity"
	"laststand/internal/nickname"
	"laststand/internal/testenv"
)

// namedAs is a player's nickname and skeleton, claimed at a time.
type namedAs struct {
	id, nickname, skeleton string
	at                     int64
}

func (l *Ledger) call(t *testing.T, all ...namedAs) {
	t.Helper()
	for _, c := range all {
		must(l.exec(t.Context(), `INSERT INTO players (game, id, nickname, skeleton, named_at, joined_at) VALUES ($1, $2, $3, $4, $5, 1)`,
			game, c.id, c.nickname, c.skeleton, c.at))(t)
	}
}

// skeletons returns the skeletons of a game's players, by player id.
func (l *Ledger) skeletons(t *testing.T) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := scanAll(func(rows *sql.Rows) error {
		var id, skeleton string
		err := rows.Scan(&id, &skeleton)
		got[id] = skeleton
		return err
	})(l.readPool.QueryContext(t.Context(), "SELECT id, skeleton FROM players WHERE game = $1", game))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A ledger has names from before skeletons treated letters that look alike as equal.
func TestOldNamesGetSkeletonsOfNewRules(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openLedger(t, db)
		l.call(t,
			namedAs{"young", "Аdа", "аdа", 30}, // Cyrillic
			namedAs{"old", "Ada", "ada", 20},
			namedAs{"max", "Max", "max", 10},
			namedAs{"rnax", "Rnax", "rnax", 5}, // older, and what Max is now
			namedAs{"ill", "Ill", "ill", 50},
			namedAs{"lll", "lll", "lll", 60}, // it has what an older one is to have
			namedAs{"none", "a", "a", 1},     // too short by now
			namedAs{"free", "Grace", "grace", 2},
		)
		want := map[string]string{
			"young": lostMark + "young", "old": "ada", "max": lostMark + "max", "rnax": "rnax",
			"ill": "lll", "lll": lostMark + "lll", "none": lostMark + "none", "free": "grace",
		}
		for range 2 {
			bare, err := l.Names.MigrateSkeletons(t.Context())
			if got := l.skeletons(t); err != nil || !maps.Equal(got, want) || bare[game] != 4 && bare[game] != 0 {
				t.Errorf("skeletons %q, want %q; %v bare, %v", got, want, bare, err)
			}
		}
		// Players whose names lost their skeletons keep these names, and can claim others.
		if p := must(l.Players.Player(t.Context(), game, "young"))(t); p.Nickname != "Аdа" {
			t.Errorf("the younger is called %q", p.Nickname)
		}
		if err := l.Names.Rename(t.Context(), game, "young", "Eva", "eva"); err != nil {
			t.Error(err)
		}
		// Names that a program with old rules has claimed since are updated. No other name loses
		// its skeleton to them.
		l.call(t, namedAs{"late", "Eｖa", "eｖa", 70}, namedAs{"later", "Мах", "мах", 71}, namedAs{"fine", "Tom", "tom", 72})
		if err := l.Names.Rename(t.Context(), game, "rnax", "Other", "other"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.Names.MigrateSkeletons(t.Context()); err != nil {
			t.Fatal(err)
		}
		for id, skeleton := range map[string]string{"young": "eva", "late": lostMark + "late", "later": "rnax", "max": lostMark + "max", "fine": "torn", "rnax": "other"} {
			if got := l.skeletons(t)[id]; got != skeleton {
				t.Errorf("%s has %q, want %q", id, got, skeleton)
			}
		}
		// Nodes that follow names by time notice these names, once.
		now := l.namesOf(t, 1000, math.MaxInt64)
		var lost []string
		for _, n := range now {
			lost = append(lost, n[:strings.LastIndex(n, "@")])
		}
		slices.Sort(lost)
		if want := []string{lostMark + "late", "eva", "other", "rnax", "torn"}; !slices.Equal(lost, scopedSkeletons(want)) {
			t.Errorf("nodes hear of %q, want %q", lost, want)
		}
		must(l.Names.MigrateSkeletons(t.Context()))(t)
		if again := l.namesOf(t, 1000, math.MaxInt64); !slices.Equal(again, now) {
			t.Errorf("and the next time of %q, had %q", again, now)
		}
	})
}

func scopedSkeletons(skeletons []string) (all []string) {
	for _, s := range skeletons {
		all = append(all, game+"/"+s)
	}
	return all
}

// A claim is committed while a page is written. The page is rolled back and repeated.
func TestSkeletonMigrationDuringAClaim(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.Database(t))
	l.call(t, namedAs{"tom", "Tom", "torn", 10_000})
	must(l.Names.MigrateSkeletons(t.Context()))(t)
	l.call(t, namedAs{"late", "Eｖa", "eｖa", 9_000}) // by a program of the old rules, committed late
	ended := make(chan error, 1)
	err := l.inTx(t.Context(), func(tx *transaction) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO players (game, id, nickname, skeleton, named_at, joined_at) VALUES ($1, 'eva', 'Eva', 'eva', 11000, 1)`, game)
		if err != nil {
			ended <- nil
			return err
		}
		go func() {
			_, err := l.Names.MigrateSkeletons(t.Context())
			ended <- err
		}()
		return l.awaitLock(t.Context(), func() bool { return len(ended) > 0 })
	})
	if err := errors.Join(err, <-ended); err != nil {
		t.Fatal(err)
	}
	if got := l.skeletons(t); got["late"] != lostMark+"late" || got["eva"] != "eva" {
		t.Errorf("skeletons %q: the one claimed late is to have none of its own", got)
	}
}

// skeletonProgress is a set of names whose skeletons change by random rules.
type skeletonProgress struct {
	names []namedAs
	rules skeletonRules
}

func newProgress(rng *rand.Rand, rules int64, names int) skeletonProgress {
	c := skeletonProgress{rules: skeletonRules{version: rules, pageSize: 7}}
	table := map[string]string{}
	for i := range names {
		name := fmt.Sprint("n", i)
		c.names = append(c.names, namedAs{fmt.Sprint("p", rng.IntN(1000), "-", i), name, fmt.Sprint("s", i), rng.Int64N(20)})
		table[name] = fmt.Sprint("s", rng.IntN(names*3/2)) // often what another has now
	}
	c.rules.compute = func(name string) (string, error) {
		if table[name] == "s1" {
			return "", errors.New("no name any more")
		}
		return table[name], nil
	}
	return c
}

// check checks the outcome: of all names that want one skeleton, the oldest has it.
func (c skeletonProgress) check(t *testing.T, l *Ledger, bare int) {
	t.Helper()
	var order []string
	err := scanAll(func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		order = append(order, id)
		return err
	})(l.readPool.QueryContext(t.Context(), "SELECT id FROM players WHERE game = $1 ORDER BY named_at, game, id", game))
	if err != nil {
		t.Fatal(err)
	}
	byID, got, taken, lost := map[string]string{}, l.skeletons(t), map[string]bool{}, 0
	for _, n := range c.names {
		byID[n.id] = n.nickname
	}
	for _, id := range order {
		want, err := c.rules.compute(byID[id])
		if err != nil || taken[want] {
			want = lostMark + id
			lost++
		}
		taken[want] = true
		if got[id] != want {
			t.Errorf("%s (%s) has %q, want %q", id, byID[id], got[id], want)
		}
	}
	if bare >= 0 && bare != lost {
		t.Errorf("%d are said to have lost theirs, %d have", bare, lost)
	}
}

func TestSkeletonMigrationKeepsTheOldestName(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openLedger(t, db)
		for seed := range uint64(4) {
			c := newProgress(rand.New(rand.NewPCG(seed, 1)), 3, 60)
			must(l.exec(t.Context(), "DELETE FROM players"))(t)
			must(l.exec(t.Context(), "UPDATE nickname_rules SET version = 0, done = 0"))(t)
			l.call(t, c.names...)
			bare := must(l.Names.migrateBy(t.Context(), c.rules))(t)
			if c.check(t, l, bare[game]); t.Failed() {
				t.Fatalf("with seed %d", seed)
			}
			if again := must(l.Names.migrateBy(t.Context(), c.rules))(t); len(again) != 0 {
				t.Errorf("again: %v", again)
			}
			older := c.rules
			older.version = 2
			older.compute = func(name string) (string, error) { return "older " + name, nil }
			if got, err := l.Names.migrateBy(t.Context(), older); !errors.Is(err, identity.ErrOldRules) || len(got) != 0 {
				t.Errorf("by older rules: %v, %v", got, err)
			}
			// By later rules, names that had lost their skeletons may get one again.
			next := newProgress(rand.New(rand.NewPCG(seed, 2)), 4, 60)
			next.names = c.names
			must(l.Names.migrateBy(t.Context(), next.rules))(t)
			next.check(t, l, -1)
		}
	})
}

// Nodes that migrate at the same time, and a node that is stopped half-way, have the same
// outcome.
func TestConcurrentAndInterruptedSkeletonMigrations(t *testing.T) {
	t.Parallel()
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		t.Parallel()
		l := openLedger(t, db)
		c := newProgress(rand.New(rand.NewPCG(9, 9)), 3, 100)
		l.call(t, c.names...)
		for cut := range 5 {
			ctx, cancel := context.WithCancel(t.Context())
			ending, read := c.rules, 0
			ending.compute = func(name string) (string, error) {
				if read++; read == 3+8*cut {
					cancel()
				}
				return c.rules.compute(name)
			}
			if _, err := l.Names.migrateBy(ctx, ending); err == nil {
				t.Errorf("cut %d: it ended in order", cut)
			}
		}
		left := make([]int, 3)
		runConcurrently(len(left), func(i int) {
			bare, err := l.Names.migrateBy(t.Context(), c.rules)
			if err != nil {
				t.Error(err)
			}
			left[i] = bare[game]
		})
		c.check(t, l, -1)
		if slices.Max(left) == 0 {
			t.Error("none of the nodes found a name that had lost its skeleton")
		}
	})
}

// No nickname can have the skeleton that marks a name without one.
func TestMarksAreNoSkeletons(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{lostMark, movedMark} {
		if _, err := nickname.Parse("p1" + mark + "x"); err == nil || !strings.Contains(err.Error(), "control") {
			t.Errorf("a name with %q: %v", mark, err)
		}
	}
}
