package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/identity"
	"laststand/internal/testenv"
)

const gatherTimeout = 30 * time.Second // limit of the wait until all calls have arrived

// gatherCalls has the next transactions of new players wait until so many calls are
// at the ledger, and counts transactions.
func (l *Ledger) gatherCalls(calls int) *atomic.Int64 {
	var transactions, running atomic.Int64
	var gathered atomic.Bool
	batcher := l.Players.registrations
	admit := batcher.Run
	batcher.Run = func(ctx context.Context, all []*registration) error {
		transactions.Add(1)
		running.Add(int64(len(all)))
		defer running.Add(int64(-len(all)))
		arrived := func() int { return batcher.Waiting() + int(running.Load()) }
		for until := time.Now().Add(gatherTimeout); !gathered.Load() && arrived() < calls; {
			if time.Now().After(until) {
				return fmt.Errorf("%d of %d calls arrived", arrived(), calls)
			}
			time.Sleep(time.Millisecond)
		}
		gathered.Store(true)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), batcher.Timeout) // the wait may have used up the former one
		defer cancel()
		return admit(ctx, all)
	}
	return &transactions
}

// expectedCall is one call and its expected outcome.
type expectedCall struct {
	identity.NewPlayer
	one   string // only one of all calls with the same value creates a player
	taken bool   // true: the other calls are refused; false: they return that player
}

// someNewPlayers returns calls for new players of all kinds, some with the same names,
// devices and ids.
func someNewPlayers() (all []expectedCall) {
	player := func(kind string, i int, device string) identity.NewPlayer {
		id := fmt.Sprint(kind, i)
		return guest(id, device, id)
	}
	for i := range 60 {
		distinct, device, skeleton := player("g", i, fmt.Sprint("d", i)), player("same device", i, "device"), player("same name", i, fmt.Sprint("e", i))
		skeleton.Skeleton = "ada"
		own, id, name := player("own", i, ""), player("own id", i, ""), player("own name", i, "")
		id.ID, name.Skeleton = "sub", "grace"
		all = append(all, expectedCall{distinct, distinct.ID, false}, expectedCall{device, "device", false}, expectedCall{skeleton, "ada", true},
			expectedCall{own, own.ID, false}, expectedCall{id, "sub", false}, expectedCall{name, "grace", true})
	}
	return all
}

func (l *Ledger) createAny(ctx context.Context, p identity.NewPlayer) (identity.Player, bool, error) {
	if p.DeviceHash != "" {
		return l.Players.CreateGuest(ctx, p)
	}
	return l.Players.EnsurePlayer(ctx, p)
}

// Players who register at the same time share few transactions. The outcome of each is
// the same as in a transaction of its own.
func TestConcurrentNewPlayersShareTransactions(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		all := someNewPlayers()
		guests := len(all) / 2 // the others have no device
		transactions := l.gatherCalls(guests)
		created := l.checkSameCalls(t, l, all)
		want := l.registrationWorkers + (guests-l.registrationWorkers+maxRegistrationBatch-1)/maxRegistrationBatch
		if n := int(transactions.Load()); n > want {
			t.Errorf("%d transactions for %d players, want %d", n, guests, want)
		}
		for _, c := range all {
			p, err := l.Players.Known(t.Context(), game, c.ID)
			switch {
			case created[c.one] != c.ID && c.ID != "sub":
				if !errors.Is(err, identity.ErrNotFound) {
					t.Errorf("%s was refused and is known: %+v, %v", c.ID, p, err)
				}
			case err != nil || p.ID != c.ID || p.JoinedAt != 42:
				t.Errorf("%s: %+v, %v", c.ID, p, err)
			}
		}
		// A player who was refused for a name leaves no trace: the id is still
		// available.
		for _, c := range all {
			if c.one == "grace" && created["grace"] != c.ID {
				c.Skeleton = "free " + c.ID
				if _, isNew, err := l.Players.EnsurePlayer(t.Context(), c.NewPlayer); err != nil || !isNew {
					t.Errorf("%s by another name: %v, %v", c.ID, isNew, err)
				}
			}
		}
	})
}

// checkSameCalls lets the same crowd in at two nodes, and gives who was created, of
// those that name the same.
func (l *Ledger) checkSameCalls(t *testing.T, other *Ledger, all []expectedCall) map[string]string {
	t.Helper()
	var mu sync.Mutex
	created := map[string]string{}
	nodes := []*Ledger{l}
	if other != l {
		nodes = append(nodes, other)
	}
	calls := slices.Repeat(all, len(nodes))
	runConcurrently(len(calls), func(i int) {
		c := calls[i]
		if i >= len(all) { // the second comes from the other end, by ids of its own
			c = calls[len(calls)-1-i+len(all)]
			if c.DeviceHash != "" {
				c.ID += " of another"
			}
		}
		p, isNew, err := nodes[i/len(all)].createAny(t.Context(), c.NewPlayer)
		switch {
		case c.taken && errors.Is(err, identity.ErrNicknameTaken):
			return
		case err != nil:
			t.Errorf("%s: %v", c.ID, err)
		case isNew:
			mu.Lock()
			defer mu.Unlock()
			if by := created[c.one]; by != "" {
				t.Errorf("%s and %s were created, of one", by, p.ID)
			}
			created[c.one] = p.ID
		}
	})
	if len(created) != 124 {
		t.Errorf("%d created", len(created))
	}
	return created
}

// Two nodes register the same players at the same time, in batches of opposite order.
// Each player is created once, and no registration fails because of the other node.
func TestTwoNodesCreateTheSamePlayersOnce(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		one, other := openLedger(t, db), openLedger(t, db)
		all := someNewPlayers()
		for _, node := range []*Ledger{one, other} {
			node.gatherCalls(len(all) / 2) // the others have no device
		}
		one.checkSameCalls(t, other, all)
	})
}

// PostgreSQL refuses a transaction because of one invalid player. The other players of
// the transaction are created nevertheless.
func TestAPlayerThatPostgresRefusesFailsAlone(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.Database(t))
	all := names("p", 20)
	l.gatherCalls(len(all))
	runConcurrently(len(all), func(i int) {
		p := guest(all[i], "device "+all[i], all[i])
		if i == 7 {
			p.Nickname = "\x00"
		}
		if _, isNew, err := l.Players.CreateGuest(t.Context(), p); isNew == (i == 7) || (err != nil) != (i == 7) {
			t.Errorf("%d: %v, %v", i, isNew, err)
		}
	})
}
