package lobby

import (
	"errors"
	"fmt"
	"laststand/internal/quiz"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"laststand/internal/match"
)

func TestCompatibleTicketsArePairedImmediately(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada", withFilter(quiz.Filter{Lang: "en"}))
		test.checkWaits(n, "ada")
		if !n.HasTicket("demo", "ada") || n.HasTicket("demo", "bob") || n.HasTicket("other", "ada") {
			test.Error("HasTicket is false for a waiting player")
		}
		test.mustJoin(n, "bob", withFilter(quiz.Filter{Category: "sport"}))
		plan := test.attachedPlan(n, "ada")
		if n.HasTicket("demo", "ada") || n.HasTicket("demo", "bob") {
			test.Error("the players still wait, although they are paired")
		}
		if plan != test.attachedPlan(n, "bob") || len(plan.Seats) != 2 || len(plan.Questions) != 10 || !plan.Rated || !plan.CountsForLeaderboards {
			test.Errorf("%+v", plan)
		}
		if plan.Form != match.CurrentForm || plan.Game != "demo" || plan.Mode != match.Duel || plan.StartsAt != now()+3000 || plan.LimitMS != 15_000 || plan.RevealMS != 2500 {
			test.Errorf("%+v", plan)
		}
		for _, q := range plan.Questions {
			if q.Lang != "en" || q.Category != "sport" {
				test.Errorf("a question does not match the filters: %+v", q)
			}
		}
		if len(test.store.pairings) != 0 || len(test.store.tickets) != 0 {
			test.Errorf("pairings %v and tickets %v are still stored", test.store.pairings, test.store.tickets)
		}
		time.Sleep(time.Minute)
		if len(test.records.plans) != 1 {
			test.Errorf("%d matches", len(test.records.plans))
		}
	})
}

// The opponent that a try has found is taken before it can pair it. The try finds another
// one at once.
func TestATryWhoseOpponentIsTakenFindsAnother(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "bob", withFilter(quiz.Filter{Lang: "en"}))
		time.Sleep(time.Millisecond) // bob has waited longer, so ada's try finds him first
		test.mustJoin(n, "cyd", withFilter(quiz.Filter{Lang: "zh-CN"}))
		n.store.setFault(func(method string) storeFault {
			if method == "Pair" {
				if _, err := test.store.RemoveTicket(test.Context(), "demo", "bob"); err != nil {
					test.Error(err)
				}
			}
			return faultNone
		})
		joinedAt := now()
		test.mustJoin(n, "ada")
		if test.attachedPlan(n, "ada") != test.attachedPlan(n, "cyd") || now() != joinedAt || n.store.countCalls("Pair") != 2 {
			test.Errorf("paired after %d ms and %d tries", now()-joinedAt, n.store.countCalls("Pair"))
		}
	})
}

// While one try of a node pairs two tickets, its other tries leave both alone.
func TestATicketIsPairedByOneTryAtATime(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "bob")
		bob := []Ticket{{ID: n.tickets[playerKey{"demo", "bob"}].id}}
		release, ok := n.claim(bob)
		if _, again := n.claim(bob); !ok || again {
			test.Fatal("two tries claimed one ticket")
		}
		n.store.setFault(func(string) storeFault { return faultNone }) // counts calls
		test.mustJoin(n, "ada")
		time.Sleep(2 * tryInterval)
		if calls := n.store.countCalls("Pair"); calls > 0 {
			test.Errorf("%d calls to pair a claimed ticket", calls)
		}
		release()
		time.Sleep(2 * tryInterval)
		if test.attachedPlan(n, "ada") != test.attachedPlan(n, "bob") {
			test.Error("the released ticket was not paired")
		}
	})
}

// A difference of 400 points is accepted after 6 s: the window is 100 plus 50
// per second.
func TestRatingWindowGrowsWithWait(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		test.ratings["ada"], test.ratings["bob"] = 1500, 1900
		n := test.startNode()
		test.mustJoin(n, "ada", botAfter(0))
		test.mustJoin(n, "bob", botAfter(0))
		time.Sleep(5900 * time.Millisecond)
		test.checkWaits(n, "ada")
		time.Sleep(800 * time.Millisecond)
		if p := test.attachedPlan(n, "ada"); p != test.attachedPlan(n, "bob") {
			test.Errorf("%+v", p)
		}
	})
}

func TestBotIsOpponentAfterWait(t *testing.T) {
	t.Parallel()
	for name, testCase := range map[string]struct {
		changes []func(*Request)
		wait    time.Duration
	}{
		"by the game's default": {nil, 8 * time.Second},
		"as requested":          {[]func(*Request){botAfter(1234)}, 1234 * time.Millisecond},
		"at once":               {[]func(*Request){botAfter(1)}, time.Millisecond},
	} {
		runNamedInCluster(t, name, func(test *cluster) {
			n := test.startNode()
			test.mustJoin(n, "ada", testCase.changes...)
			time.Sleep(testCase.wait - time.Millisecond)
			test.checkWaits(n, "ada")
			time.Sleep(60 * time.Millisecond)
			plan := test.attachedPlan(n, "ada")
			if len(plan.Seats) != 2 || !plan.Seats[1].Bot || plan.Seats[1].Rating != nil || plan.Rated || plan.CountsForLeaderboards {
				test.Errorf("%+v", plan)
			}
		})
	}
}

// Two players who have reached their daily limit are still paired, but the duel
// does not count.
func TestDuelsAboveThePairLimitDoNotCount(t *testing.T) {
	t.Parallel()
	for duelsToday, shouldCount := range map[int64]bool{0: true, 2: true, 3: false, 9: false} {
		runNamedInCluster(t, fmt.Sprint(duelsToday), func(test *cluster) {
			start := now()
			test.pairLimitPerDay, test.countDuels = 3, func(one, other string) (int64, error) {
				if now()-start < 2000 { // the ledger is down for the first 2 s
					return 0, errDown
				}
				if one == "ada" || other == "ada" {
					return duelsToday, nil
				}
				return 0, nil
			}
			n := test.startNode()
			test.mustJoin(n, "ada", botAfter(0))
			test.mustJoin(n, "bob", botAfter(0))
			time.Sleep(10 * time.Second)
			if p := test.attachedPlan(n, "ada"); p != test.attachedPlan(n, "bob") || p.CountsForLeaderboards != shouldCount || p.Rated != shouldCount {
				test.Errorf("%+v", p)
			}
			test.mustJoin(n, "eve", botAfter(1))
			time.Sleep(time.Second)
			if p := test.attachedPlan(n, "eve"); p.CountsForLeaderboards {
				test.Errorf("against a bot: %+v", p)
			}
		})
	}
}

func TestPlayerWithoutBotWaitsOn(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada", botAfter(0))
		time.Sleep(time.Hour)
		test.checkWaits(n, "ada")
		if err := n.joinAndPair("ada"); errorCode(err) != "already_queued" {
			test.Errorf("%v", err)
		}
	})
}

func TestLeaveRemovesTheTicket(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		nodeA, nodeB := test.startNode(), test.startNode()
		test.mustJoin(nodeA, "ada")
		test.must(nodeB.Leave(test.Context(), "demo", "ada")) // ada's newer session is at that node
		if err := nodeA.Leave(test.Context(), "demo", "ada"); err != nil {
			test.Errorf("with no ticket: %v", err)
		}
		test.mustJoin(nodeA, "bob")
		test.must(nodeA.Leave(test.Context(), "demo", "bob"))
		time.Sleep(time.Minute)
		test.checkWaits(nodeA, "ada")
		test.checkWaits(nodeA, "bob")
		if len(test.records.plans) != 0 || len(test.store.activities) != 0 || nodeA.countTickets() != 0 || nodeA.HasTicket("demo", "bob") {
			test.Errorf("%d matches, busy %v, %d tickets in memory", len(test.records.plans), test.store.activities, nodeA.countTickets())
		}
	})
}

func (l *Lobby) countTickets() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tickets)
}

// Two compatible filters may match too few questions in common. Such tickets are not
// paired.
func TestTicketsWithTooFewCommonQuestionsAreNotPaired(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada", withFilter(quiz.Filter{Lang: "zh-CN"}), botAfter(0))
		time.Sleep(time.Second) // ada has waited longer
		test.mustJoin(n, "bob", withFilter(quiz.Filter{Category: "art"}), botAfter(0))
		time.Sleep(20 * time.Second)
		test.checkWaits(n, "ada")
		test.mustJoin(n, "eve", botAfter(0))
		if p := test.attachedPlan(n, "eve"); p != test.attachedPlan(n, "ada") {
			test.Errorf("%+v", p)
		}
		test.checkWaits(n, "bob")
	})
}

func TestMatchesAvoidSeenQuestions(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		seen := map[string]bool{}
		for i := range 3 { // the bank has 30 questions
			test.mustJoin(n, "ada")
			test.mustJoin(n, fmt.Sprint("other ", i))
			plan := test.attachedPlan(n, "ada")
			for _, q := range plan.Questions {
				if seen[q.ID] {
					test.Errorf("duel %d: %s again", i, q.ID)
				}
				seen[q.ID] = true
			}
			test.records.mu.Lock()
			test.records.over[plan.ID] = true
			test.records.mu.Unlock()
		}
		if len(test.seenStore.seen["ada"]) != 30 || len(test.seenStore.seen["other 2"]) != 10 {
			test.Errorf("%v", test.seenStore.seen)
		}
	})
}

// When one node pairs two tickets, the other node attaches its player soon.
func TestNodeAttachesPlayerPairedByAnotherNode(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		nodeA, nodeB := test.startNode(), test.startNode()
		test.mustJoin(nodeA, "ada")
		test.mustJoin(nodeB, "bob")
		p := test.attachedPlan(nodeB, "bob")
		time.Sleep(550 * time.Millisecond)
		if test.attachedPlan(nodeA, "ada") != p {
			test.Error("ada and bob are in different matches")
		}
		time.Sleep(time.Minute)
		if len(test.records.plans) != 1 || nodeA.countTickets() != 0 || nodeB.countTickets() != 0 {
			test.Errorf("%d matches, %d and %d tickets in memory", len(test.records.plans), nodeA.countTickets(), nodeB.countTickets())
		}
	})
}

// A node dies after it has paired two tickets and before it creates the match.
// Another node creates it and attaches its player.
func TestSweepFinishesPairingOfDeadNode(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		nodeA, nodeB := test.startNode(), test.startNode()
		test.mustJoin(nodeA, "ada")
		nodeB.matches.shouldFailStart = func() bool { return true }
		test.mustJoin(nodeB, "bob")
		nodeB.kill()
		if len(test.store.pairings) != 1 {
			test.Fatalf("%v", test.store.pairings)
		}
		for _, player := range []string{"ada", "bob"} { // a paired player cannot join again
			if err := nodeA.joinAndPair(player); errorCode(err) != "already_playing" {
				test.Errorf("%s: %v", player, err)
			}
		}
		time.Sleep(2900 * time.Millisecond)
		test.checkWaits(nodeA, "ada") // the node might only be slow
		time.Sleep(2200 * time.Millisecond)
		p := test.attachedPlan(nodeA, "ada")
		if _, ok := p.FindSeat("bob"); !ok || len(test.store.pairings) != 0 || len(test.records.plans) != 1 {
			test.Errorf("%+v, pairings %v", p, test.store.pairings)
		}
	})
}

// The pairing node is slow. The players at the other node wait for the match,
// however often their tickets are tried.
func TestNodeWaitsForFormingMatch(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		nodeA, nodeB := test.startNode(), test.startNode()
		test.mustJoin(nodeA, "ada")
		start := now()
		nodeB.matches.shouldFailStart = func() bool { return now()-start < 1700 }
		test.mustJoin(nodeB, "bob")
		time.Sleep(10 * time.Second)
		if test.attachedPlan(nodeA, "ada") != test.attachedPlan(nodeB, "bob") || nodeA.countTickets() != 0 || nodeB.countTickets() != 0 {
			test.Errorf("%d matches, %d and %d tickets in memory", len(test.records.plans), nodeA.countTickets(), nodeB.countTickets())
		}
	})
}

// The store is down for longer than a ticket lives without renewal. The tickets
// come back, and there are few tries in between.
func TestTicketsSurviveStoreOutage(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		test.ratings["bob"] = 9000
		n := test.startNode()
		test.mustJoin(n, "ada", botAfter(2000))
		test.mustJoin(n, "bob", botAfter(0))
		n.store.setFault(func(string) storeFault { return faultNotExecuted })
		time.Sleep(7 * time.Second)
		if tries := n.store.countCalls("ListNearest"); tries > 32 {
			test.Errorf("%d tries in 7 s", tries)
		}
		n.store.setFault(nil)
		time.Sleep(600 * time.Millisecond)
		if p := test.attachedPlan(n, "ada"); !p.Seats[1].Bot {
			test.Errorf("%+v", p)
		}
		time.Sleep(10 * time.Second)
		test.mustJoin(n, "eve")
		if p := test.attachedPlan(n, "bob"); p != test.attachedPlan(n, "eve") {
			test.Errorf("%+v", p)
		}
	})
}

// A compatible ticket is found behind many tickets with other filters, within
// the search range.
func TestSearchFindsTicketBehindOtherFilters(t *testing.T) {
	t.Parallel()
	lastSlice := searchSlices[len(searchSlices)-1]
	ticketsPerSide := lastSlice.Skip + lastSlice.Count // including the places of ada and bob
	for others, want := range map[int]bool{ticketsPerSide - 2: true, ticketsPerSide - 1: false} {
		runNamedInCluster(t, fmt.Sprint(others), func(test *cluster) {
			n := test.startNode()
			for i := range others {
				other := newTestTicket(fmt.Sprint("p_", i), 1500, now())
				other.Filter.Lang = "zh-CN"
				test.addTicket(other)
			}
			test.ratings["bob"] = 1550
			test.mustJoin(n, "bob", botAfter(0), withFilter(quiz.Filter{Lang: "en"}))
			test.mustJoin(n, "ada", botAfter(0), withFilter(quiz.Filter{Lang: "en"}))
			if got := n.matches.attachedMatch("ada") != ""; got != want {
				test.Errorf("paired: %v", got)
			}
		})
	}
}

// Forty players are at three nodes, and a third of all calls fail or lose their
// reply. Each player is in exactly one match and attached to it.
func TestEachPlayerIsPairedOnceDespiteFailures(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]storeFault{"no fault": faultNone, "replies lost": faultReplyLost, "calls failed": faultNotExecuted} {
		runNamedInCluster(t, name, func(test *cluster) {
			nodes := []*node{test.startNode(), test.startNode(), test.startNode()}
			for _, n := range nodes {
				n.store.setFault(func(method string) storeFault {
					if method != "AddTicket" && rand.IntN(3) == 0 {
						return failure
					}
					return faultNone
				})
			}
			for i := range 40 {
				test.ratings[fmt.Sprint("p_", i)] = 1400 + 5*float64(i)
			}
			var running sync.WaitGroup
			for i := range 40 {
				running.Go(func() { // repeat until the store accepts the ticket
					err := errDown
					for errors.Is(err, errDown) {
						err = nodes[i%3].joinAndPair(fmt.Sprint("p_", i), botAfter(0))
					}
					if err != nil {
						test.Error(err)
					}
				})
			}
			running.Wait()
			advanceTime(time.Minute)
			test.checkAllPaired(nodes, 40)
		})
	}
}

func (c *cluster) checkAllPaired(nodes []*node, players int) {
	c.Helper()
	matchByPlayer := map[string]string{}
	for id, p := range c.records.plans {
		for _, s := range p.Seats {
			if matchByPlayer[s.Player] != "" || s.Bot {
				c.Errorf("%s is in %s and %s", s.Player, matchByPlayer[s.Player], id)
			}
			matchByPlayer[s.Player] = id
		}
	}
	if len(matchByPlayer) != players || len(c.store.pairings) != 0 {
		c.Errorf("%d of %d are in a match, pairings %v", len(matchByPlayer), players, c.store.pairings)
	}
	for i := range players {
		player := fmt.Sprint("p_", i)
		if attached := nodes[i%3].matches.attachedMatch(player); attached != matchByPlayer[player] {
			c.Errorf("%s was attached to %q and has a seat in %q", player, attached, matchByPlayer[player])
		}
	}
}
