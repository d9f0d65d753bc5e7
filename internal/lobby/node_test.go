package lobby

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
	"laststand/internal/rating"
	"laststand/internal/timer"
)

// cluster is a store, matches and the nodes that share them, in virtual time.
type cluster struct {
	*testing.T
	store      *memoryStore
	records    *matchRecords
	seen       *fakeSeenStore
	skill      map[string]float64 // ratings of players; 1500 else
	limit      int64              // daily limit of duels of one pair
	duelsToday func(one, other string) (int64, error)

	addressesMatter bool // duels between players of one address do not count
}

func inBubble(t *testing.T, f func(w *cluster)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f(&cluster{
			T: t, store: newMemory(), seen: &fakeSeenStore{seen: map[string][]string{}}, skill: map[string]float64{},
			records: &matchRecords{
				plans: map[string]*match.Plan{}, tombstoned: map[string]bool{}, left: map[string]bool{},
				over: map[string]bool{}, unsettled: map[string]bool{},
			},
		})
	})
}

// Seat implements Players.
func (w *cluster) Seat(_ context.Context, _, player string) (match.Seat, error) {
	r := rating.Rating{R: 1500, RD: 80, Sigma: 0.06}
	if r0, ok := w.skill[player]; ok {
		r.R = r0
	}
	return match.Seat{Player: player, Nickname: player, Rating: &r}, nil
}

// PairDuels implements Pairs.
func (w *cluster) PairDuels(_ context.Context, _, one, other string) (int64, error) {
	return w.duelsToday(one, other)
}

// node is a lobby that runs until it is killed.
type node struct {
	*Lobby
	matches *fakeMatches
	link    *faultyStore
	kill    func()
}

func (w *cluster) node() *node {
	n := &node{
		link:    &faultyStore{memoryStore: w.store, calls: map[string]int{}},
		matches: &fakeMatches{matchRecords: w.records, here: map[string]bool{}, attachedTo: map[string]string{}},
	}
	wheel := timer.New(timer.Config{Workers: 4})
	n.Lobby = New(Config{
		Games: map[string]Duel{"demo": {Questions: 10, LimitMS: 15_000, CountdownMS: 3000, RevealMS: 2500, BotAfterMS: 8000, Rated: true, PairLimitPerDay: w.limit, CountSameAddress: !w.addressesMatter}},
		Store: n.link, Matches: n.matches, Bank: fakeBank{}, SeenStore: w.seen, Players: w, Pairs: w, Wheel: wheel,
		Now: now, Logger: slog.New(slog.DiscardHandler), AddressKey: []byte("a key"),
	})
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			w.Error(err)
		}
	})
	n.kill = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		wheel.Close()
	})
	w.Cleanup(n.kill)
	return n
}

func now() int64 { return time.Now().UnixMilli() }

// addPlayer gives a player a session at the node.
func (n *node) addPlayer(player string) {
	n.matches.mu.Lock()
	defer n.matches.mu.Unlock()
	n.matches.here[player] = true
}

// join requests an opponent for a player at the node.
func (n *node) join(player string, tune ...func(*Request)) error {
	n.addPlayer(player)
	r := Request{Game: "demo", Player: player}
	for _, f := range tune {
		f(&r)
	}
	_, then, err := n.Join(context.Background(), r)
	then()
	return err
}

func withFilter(w Filter) func(*Request) { return func(r *Request) { r.Filter = w } }

func botAfter(ms int64) func(*Request) { return func(r *Request) { r.BotAfterMS = &ms } }

// mustJoin joins a player, who must be accepted.
func (w *cluster) mustJoin(n *node, player string, tune ...func(*Request)) {
	w.Helper()
	if err := n.join(player, tune...); err != nil {
		w.Fatalf("%s: %v", player, err)
	}
}

// plan returns the plan of the match to which a local player was attached.
func (w *cluster) plan(n *node, player string) *match.Plan {
	w.Helper()
	synctest.Wait()
	n.matches.mu.Lock()
	defer n.matches.mu.Unlock()
	p := n.matches.plans[n.matches.attachedTo[player]]
	if p == nil {
		w.Fatalf("%s was not attached to a match", player)
	}
	return p
}

// checkWaits checks that a player was not attached to a match yet.
func (w *cluster) checkWaits(n *node, player string) {
	w.Helper()
	synctest.Wait()
	if id := n.matches.match(player); id != "" {
		w.Fatalf("%s was attached to match %s too early", player, id)
	}
}
