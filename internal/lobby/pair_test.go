package lobby

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
)

func TestCompatibleTicketsArePairedImmediately(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada", withFilter(Filter{Lang: "en"}))
		test.checkWaits(n, "ada")
		if !n.HasTicket("demo", "ada") || n.HasTicket("demo", "bob") || n.HasTicket("other", "ada") {
			test.Error("HasTicket is false for a waiting player")
		}
		test.mustJoin(n, "bob", withFilter(Filter{Category: "sport"}))
		p := test.attachedPlan(n, "ada")
		if n.HasTicket("demo", "ada") || n.HasTicket("demo", "bob") {
			test.Error("the players still wait, although they are paired")
		}
		if p != test.attachedPlan(n, "bob") || len(p.Seats) != 2 || len(p.Questions) != 10 || !p.Rated || !p.CountsForLeaderboards {
			test.Errorf("%+v", p)
		}
		if p.Form != match.CurrentForm || p.Game != "demo" || p.Mode != match.Duel || p.StartsAt != now()+3000 || p.LimitMS != 15_000 || p.RevealMS != 2500 {
			test.Errorf("%+v", p)
		}
		for _, q := range p.Questions {
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

// A difference of 400 points is accepted after 6 s: the window is 100 plus 50
// per second.
func TestTheWindowWidens(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
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

func TestABotIsTheOpponentAfterTheWait(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after []func(*Request)
		want  time.Duration
	}{
		"by the game's default": {nil, 8 * time.Second},
		"as requested":          {[]func(*Request){botAfter(1234)}, 1234 * time.Millisecond},
		"at once":               {[]func(*Request){botAfter(1)}, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(test *cluster) {
				n := test.startNode()
				test.mustJoin(n, "ada", c.after...)
				time.Sleep(c.want - time.Millisecond)
				test.checkWaits(n, "ada")
				time.Sleep(60 * time.Millisecond)
				p := test.attachedPlan(n, "ada")
				if len(p.Seats) != 2 || !p.Seats[1].Bot || p.Seats[1].Rating != nil || p.Rated || p.CountsForLeaderboards {
					test.Errorf("%+v", p)
				}
			})
		})
	}
}

// Two players who have reached their daily limit are still paired, but the duel
// does not count.
func TestDuelsAboveThePairLimitDoNotCount(t *testing.T) {
	t.Parallel()
	for today, counts := range map[int64]bool{0: true, 2: true, 3: false, 9: false} {
		t.Run(fmt.Sprint(today), func(t *testing.T) {
			inVirtualTime(t, func(test *cluster) {
				began := now()
				test.pairLimitPerDay, test.countDuels = 3, func(one, other string) (int64, error) {
					if now()-began < 2000 { // the ledger is down for the first 2 s
						return 0, errDown
					}
					if one == "ada" || other == "ada" {
						return today, nil
					}
					return 0, nil
				}
				n := test.startNode()
				test.mustJoin(n, "ada", botAfter(0))
				test.mustJoin(n, "bob", botAfter(0))
				time.Sleep(10 * time.Second)
				if p := test.attachedPlan(n, "ada"); p != test.attachedPlan(n, "bob") || p.CountsForLeaderboards != counts || p.Rated != counts {
					test.Errorf("%+v", p)
				}
				test.mustJoin(n, "eve", botAfter(1))
				time.Sleep(time.Second)
				if p := test.attachedPlan(n, "eve"); p.CountsForLeaderboards {
					test.Errorf("against a bot: %+v", p)
				}
			})
		})
	}
}

func TestNoBotIfItIsDisabled(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada", botAfter(0))
		time.Sleep(time.Hour)
		test.checkWaits(n, "ada")
		if err := n.join("ada"); errorCode(err) != "already_queued" {
			test.Errorf("%v", err)
		}
	})
}

func TestLeaveRemovesTheTicket(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b := test.startNode(), test.startNode()
		test.mustJoin(a, "ada")
		if err := b.Leave(test.Context(), "demo", "ada"); err != nil { // ada's newer session is at that node
			test.Fatal(err)
		}
		if err := a.Leave(test.Context(), "demo", "ada"); err != nil {
			test.Errorf("with no ticket: %v", err)
		}
		test.mustJoin(a, "bob")
		if err := a.Leave(test.Context(), "demo", "bob"); err != nil {
			test.Fatal(err)
		}
		time.Sleep(time.Minute)
		test.checkWaits(a, "ada")
		test.checkWaits(a, "bob")
		if len(test.records.plans) != 0 || len(test.store.busy) != 0 || a.countTickets() != 0 || a.HasTicket("demo", "bob") {
			test.Errorf("%d matches, busy %v, %d tickets in memory", len(test.records.plans), test.store.busy, a.countTickets())
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
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		test.mustJoin(n, "ada", withFilter(Filter{Lang: "zh-CN"}), botAfter(0))
		time.Sleep(time.Second) // ada has waited longer
		test.mustJoin(n, "bob", withFilter(Filter{Category: "art"}), botAfter(0))
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
	inVirtualTime(t, func(test *cluster) {
		n := test.startNode()
		seen := map[string]bool{}
		for i := range 3 { // the bank has 30 questions
			test.mustJoin(n, "ada")
			test.mustJoin(n, fmt.Sprint("other ", i))
			p := test.attachedPlan(n, "ada")
			for _, q := range p.Questions {
				if seen[q.ID] {
					test.Errorf("duel %d: %s again", i, q.ID)
				}
				seen[q.ID] = true
			}
			test.records.mu.Lock()
			test.records.over[p.ID] = true
			test.records.mu.Unlock()
		}
		if len(test.seenStore.seen["ada"]) != 30 || len(test.seenStore.seen["other 2"]) != 10 {
			test.Errorf("%v", test.seenStore.seen)
		}
	})
}

// When one node pairs two tickets, the other node attaches its player soon.
func TestANodeFollowsThePairingOfAnother(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b := test.startNode(), test.startNode()
		test.mustJoin(a, "ada")
		test.mustJoin(b, "bob")
		p := test.attachedPlan(b, "bob")
		time.Sleep(550 * time.Millisecond)
		if test.attachedPlan(a, "ada") != p {
			test.Error("ada and bob are in different matches")
		}
		time.Sleep(time.Minute)
		if len(test.records.plans) != 1 || a.countTickets() != 0 || b.countTickets() != 0 {
			test.Errorf("%d matches, %d and %d tickets in memory", len(test.records.plans), a.countTickets(), b.countTickets())
		}
	})
}

// A node dies after it has paired two tickets and before it creates the match.
// Another node creates it and attaches its player.
func TestASweepFinishesThePairingOfADeadNode(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b := test.startNode(), test.startNode()
		test.mustJoin(a, "ada")
		b.matches.shouldFailStart = func() bool { return true }
		test.mustJoin(b, "bob")
		b.kill()
		if len(test.store.pairings) != 1 {
			test.Fatalf("%v", test.store.pairings)
		}
		for _, player := range []string{"ada", "bob"} { // a paired player cannot join again
			if err := a.join(player); errorCode(err) != "already_playing" {
				test.Errorf("%s: %v", player, err)
			}
		}
		time.Sleep(2900 * time.Millisecond)
		test.checkWaits(a, "ada") // the node might only be slow
		time.Sleep(2200 * time.Millisecond)
		p := test.attachedPlan(a, "ada")
		if _, ok := p.FindSeat("bob"); !ok || len(test.store.pairings) != 0 || len(test.records.plans) != 1 {
			test.Errorf("%+v, pairings %v", p, test.store.pairings)
		}
	})
}

// The pairing node is slow. The players at the other node wait for the match,
// however often their tickets are tried.
func TestANodeWaitsForAMatchThatIsForming(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b := test.startNode(), test.startNode()
		test.mustJoin(a, "ada")
		began := now()
		b.matches.shouldFailStart = func() bool { return now()-began < 1700 }
		test.mustJoin(b, "bob")
		time.Sleep(10 * time.Second)
		if test.attachedPlan(a, "ada") != test.attachedPlan(b, "bob") || a.countTickets() != 0 || b.countTickets() != 0 {
			test.Errorf("%d matches, %d and %d tickets in memory", len(test.records.plans), a.countTickets(), b.countTickets())
		}
	})
}

// The store is down for longer than a ticket lives without renewal. The tickets
// come back, and there are few tries in between.
func TestTicketsSurviveAnOutageOfTheStore(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
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
func TestATicketSearchesBeyondOtherFilters(t *testing.T) {
	t.Parallel()
	last := searchSlices[len(searchSlices)-1]
	side := last.Skip + last.Count // including the places of ada and bob
	for others, want := range map[int]bool{side - 2: true, side - 1: false} {
		t.Run(fmt.Sprint(others), func(t *testing.T) {
			inVirtualTime(t, func(test *cluster) {
				n := test.startNode()
				for i := range others {
					other := ticket(fmt.Sprint("p_", i), 1500, now())
					other.Filter.Lang = "zh-CN"
					if _, _, err := test.store.AddTicket(test.Context(), other, Activity{}, now()); err != nil {
						test.Fatal(err)
					}
				}
				test.ratings["bob"] = 1550
				test.mustJoin(n, "bob", botAfter(0), withFilter(Filter{Lang: "en"}))
				test.mustJoin(n, "ada", botAfter(0), withFilter(Filter{Lang: "en"}))
				if got := n.matches.attachedMatch("ada") != ""; got != want {
					test.Errorf("paired: %v", got)
				}
			})
		})
	}
}

// Forty players are at three nodes, and a third of all calls fail or lose their
// reply. Each player is in exactly one match and attached to it.
func TestEachPlayerIsPairedOnceDespiteFailures(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]storeFault{"no fault": faultNone, "replies lost": faultReplyLost, "calls failed": faultNotExecuted} {
		t.Run(name, func(t *testing.T) {
			inVirtualTime(t, func(test *cluster) {
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
				var all sync.WaitGroup
				for i := range 40 {
					all.Go(func() { // repeat until the store accepts the ticket
						err := errDown
						for errors.Is(err, errDown) {
							err = nodes[i%3].join(fmt.Sprint("p_", i), botAfter(0))
						}
						if err != nil {
							test.Error(err)
						}
					})
				}
				all.Wait()
				time.Sleep(time.Minute)
				synctest.Wait()
				test.checkAllPaired(nodes, 40)
			})
		})
	}
}

func (c *cluster) checkAllPaired(nodes []*node, players int) {
	c.Helper()
	seats := map[string]string{}
	for id, p := range c.records.plans {
		for _, s := range p.Seats {
			if seats[s.Player] != "" || s.Bot {
				c.Errorf("%s is in %s and %s", s.Player, seats[s.Player], id)
			}
			seats[s.Player] = id
		}
	}
	if len(seats) != players || len(c.store.pairings) != 0 {
		c.Errorf("%d of %d are in a match, pairings %v", len(seats), players, c.store.pairings)
	}
	for i := range players {
		player := fmt.Sprint("p_", i)
		if attached := nodes[i%3].matches.attachedMatch(player); attached != seats[player] {
			c.Errorf("%s was attached to %q and has a seat in %q", player, attached, seats[player])
		}
	}
}
