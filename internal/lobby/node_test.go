package lobby

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
	"laststand/internal/quiz"
	"laststand/internal/timer"
)

// cluster is a store, matches and the nodes that share them, in virtual time.
type cluster struct {
	*testing.T
	store           *memoryStore
	records         *matchRecords
	seenStore       *fakeSeenStore
	ratings         map[string]float64 // ratings of players; 1500 else
	pairLimitPerDay int64              // daily limit of duels of one pair
	countDuels      func(one, other string) (int64, error)

	excludeSameAddress bool // duels between players of one address do not count
}

func runInCluster(t *testing.T, f func(test *cluster)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f(&cluster{
			T: t, store: newMemoryStore(), seenStore: &fakeSeenStore{seen: map[string][]string{}}, ratings: map[string]float64{},
			records: &matchRecords{
				plans: map[string]*match.Plan{}, tombstoned: map[string]bool{}, withoutSeat: map[string]bool{},
				over: map[string]bool{}, unsettled: map[string]bool{},
			},
		})
	})
}

// runNamedInCluster runs a part of a test with a cluster of its own.
func runNamedInCluster(t *testing.T, name string, f func(test *cluster)) {
	t.Run(name, func(t *testing.T) { runInCluster(t, f) })
}

// must ends the test if there is an error.
func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// addTicket stores a waiting ticket.
func (c *cluster) addTicket(ticket Ticket) {
	c.Helper()
	_, err := c.store.AddTicket(c.Context(), ticket, Activity{}, now())
	c.must(err)
}

// Seat implements Players.
func (c *cluster) Seat(_ context.Context, _, player string) (match.Seat, error) {
	playerRating := match.Rating{R: 1500, RD: 80, Sigma: 0.06}
	if points, ok := c.ratings[player]; ok {
		playerRating.R = points
	}
	return match.Seat{Player: player, Nickname: player, Rating: &playerRating}, nil
}

// PairDuels implements Pairs.
func (c *cluster) PairDuels(_ context.Context, _, one, other string) (int64, error) {
	return c.countDuels(one, other)
}

// node is a lobby that runs until it is killed.
type node struct {
	*Lobby
	matches *fakeMatches
	store   *faultyStore
	kill    func()
}

func (c *cluster) startNode() *node {
	n := &node{
		store:   &faultyStore{memoryStore: c.store, calls: map[string]int{}},
		matches: &fakeMatches{matchRecords: c.records, localPlayers: map[string]bool{}, attachedTo: map[string]string{}},
	}
	wheel := timer.New(timer.Config{Workers: 4})
	n.Lobby = New(Config{
		Games:   map[string]DuelSettings{"demo": {Questions: 10, LimitMS: 15_000, CountdownMS: 3000, RevealMS: 2500, BotAfterMS: 8000, Rated: true, PairLimitPerDay: c.pairLimitPerDay, CountSameAddress: !c.excludeSameAddress}},
		Tickets: n.store, Pairings: n.store, Activities: n.store, Matches: n.matches, Statuses: n.matches, Bank: fakeBank{}, SeenStore: c.seenStore, Players: c, DuelCounter: c, Wheel: wheel,
		Now: now, Logger: slog.New(slog.DiscardHandler), AddressKey: []byte("a key"),
	})
	ctx, cancel := context.WithCancel(c.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			c.Error(err)
		}
	})
	n.kill = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		wheel.Close()
	})
	c.Cleanup(n.kill)
	return n
}

func now() int64 { return time.Now().UnixMilli() }

// addPlayer gives a player a session at the node.
func (n *node) addPlayer(player string) {
	n.matches.mu.Lock()
	defer n.matches.mu.Unlock()
	n.matches.localPlayers[player] = true
}

// joinAndPair requests an opponent for a player at the node.
func (n *node) joinAndPair(player string, changes ...func(*Request)) error {
	n.addPlayer(player)
	request := Request{Game: "demo", Player: player}
	for _, change := range changes {
		change(&request)
	}
	_, pairTicket, err := n.Join(context.Background(), request)
	pairTicket()
	return err
}

func withFilter(filter quiz.Filter) func(*Request) { return func(r *Request) { r.Filter = filter } }

func botAfter(ms int64) func(*Request) { return func(r *Request) { r.BotAfterMS = &ms } }

// mustJoin joins a player, who must be accepted.
func (c *cluster) mustJoin(n *node, player string, changes ...func(*Request)) {
	c.Helper()
	if err := n.joinAndPair(player, changes...); err != nil {
		c.Fatalf("%s: %v", player, err)
	}
}

// attachedPlan returns the plan of the match to which a local player was attached.
func (c *cluster) attachedPlan(n *node, player string) *match.Plan {
	c.Helper()
	synctest.Wait()
	n.matches.mu.Lock()
	defer n.matches.mu.Unlock()
	plan := n.matches.plans[n.matches.attachedTo[player]]
	if plan == nil {
		c.Fatalf("%s was not attached to a match", player)
	}
	return plan
}

// checkWaits checks that a player was not attached to a match yet.
func (c *cluster) checkWaits(n *node, player string) {
	c.Helper()
	synctest.Wait()
	if id := n.matches.attachedMatch(player); id != "" {
		c.Fatalf("%s was attached to match %s too early", player, id)
	}
}
