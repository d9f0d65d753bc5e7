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

func TestCompatibleTicketsArePairedAtOnce(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		w.mustJoin(n, "ada", withFilter(Filter{Lang: "en"}))
		w.checkWaits(n, "ada")
		if !n.HasTicket("demo", "ada") || n.HasTicket("demo", "bob") || n.HasTicket("other", "ada") {
			w.Error("HasTicket is false for a waiting player")
		}
		w.mustJoin(n, "bob", withFilter(Filter{Category: "sport"}))
		p := w.plan(n, "ada")
		if n.HasTicket("demo", "ada") || n.HasTicket("demo", "bob") {
			w.Error("they wait, though they are paired")
		}
		if p != w.plan(n, "bob") || len(p.Seats) != 2 || len(p.Questions) != 10 || !p.Rated || !p.Counts {
			w.Errorf("%+v", p)
		}
		if p.Form != match.Form || p.Game != "demo" || p.Mode != match.Duel || p.StartsAt != now()+3000 || p.LimitMS != 15_000 || p.RevealMS != 2500 {
			w.Errorf("%+v", p)
		}
		for _, q := range p.Questions {
			if q.Lang != "en" || q.Category != "sport" {
				w.Errorf("they did not wish for %+v", q)
			}
		}
		if len(w.store.pairings) != 0 || len(w.store.tickets) != 0 {
			w.Errorf("left over: %v, %v", w.store.pairings, w.store.tickets)
		}
		time.Sleep(time.Minute)
		if len(w.records.plans) != 1 {
			w.Errorf("%d matches", len(w.records.plans))
		}
	})
}

// A difference of 400 points is accepted after 6 s: the window is 100 plus 50
// per second.
func TestTheWindowWidens(t *testing.T) {
	inBubble(t, func(w *cluster) {
		w.skill["ada"], w.skill["bob"] = 1500, 1900
		n := w.node()
		w.mustJoin(n, "ada", botAfter(0))
		w.mustJoin(n, "bob", botAfter(0))
		time.Sleep(5900 * time.Millisecond)
		w.checkWaits(n, "ada")
		time.Sleep(800 * time.Millisecond)
		if p := w.plan(n, "ada"); p != w.plan(n, "bob") {
			w.Errorf("%+v", p)
		}
	})
}

func TestABotComes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after []func(*Request)
		want  time.Duration
	}{
		"by the game's default": {nil, 8 * time.Second},
		"by the wish":           {[]func(*Request){botAfter(1234)}, 1234 * time.Millisecond},
		"at once":               {[]func(*Request){botAfter(1)}, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				n := w.node()
				w.mustJoin(n, "ada", c.after...)
				time.Sleep(c.want - time.Millisecond)
				w.checkWaits(n, "ada")
				time.Sleep(60 * time.Millisecond)
				p := w.plan(n, "ada")
				if len(p.Seats) != 2 || !p.Seats[1].Bot || p.Seats[1].Rating != nil || p.Rated || p.Counts {
					w.Errorf("%+v", p)
				}
			})
		})
	}
}

// Two players who have reached their daily limit are still paired, but the duel
// does not count.
func TestDuelsOfAPairBeyondItsLimitDoNotCount(t *testing.T) {
	t.Parallel()
	for today, counts := range map[int64]bool{0: true, 2: true, 3: false, 9: false} {
		t.Run(fmt.Sprint(today), func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				began := now()
				w.limit, w.duelsToday = 3, func(one, other string) (int64, error) {
					if now()-began < 2000 { // the ledger is down for the first 2 s
						return 0, errDown
					}
					if one == "ada" || other == "ada" {
						return today, nil
					}
					return 0, nil
				}
				n := w.node()
				w.mustJoin(n, "ada", botAfter(0))
				w.mustJoin(n, "bob", botAfter(0))
				time.Sleep(10 * time.Second)
				if p := w.plan(n, "ada"); p != w.plan(n, "bob") || p.Counts != counts || p.Rated != counts {
					w.Errorf("%+v", p)
				}
				w.mustJoin(n, "eve", botAfter(1))
				time.Sleep(time.Second)
				if p := w.plan(n, "eve"); p.Counts {
					w.Errorf("against a bot: %+v", p)
				}
			})
		})
	}
}

func TestABotNeverComes(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		w.mustJoin(n, "ada", botAfter(0))
		time.Sleep(time.Hour)
		w.checkWaits(n, "ada")
		if err := n.join("ada"); code(err) != "already_queued" {
			w.Errorf("%v", err)
		}
	})
}

func TestLeave(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		w.mustJoin(a, "ada")
		if err := b.Leave(w.Context(), "demo", "ada"); err != nil { // ada's newer session is at that node
			w.Fatal(err)
		}
		if err := a.Leave(w.Context(), "demo", "ada"); err != nil {
			w.Errorf("with no ticket: %v", err)
		}
		w.mustJoin(a, "bob")
		if err := a.Leave(w.Context(), "demo", "bob"); err != nil {
			w.Fatal(err)
		}
		time.Sleep(time.Minute)
		w.checkWaits(a, "ada")
		w.checkWaits(a, "bob")
		if len(w.records.plans) != 0 || len(w.store.busy) != 0 || a.countTickets() != 0 || a.HasTicket("demo", "bob") {
			w.Errorf("%d matches, busy %v, %d tickets held", len(w.records.plans), w.store.busy, a.countTickets())
		}
	})
}

func (l *Lobby) countTickets() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.tickets)
}

// Two compatible filters may leave too few questions together. Such tickets are
// not paired.
func TestFiltersThatLeaveTooFewQuestions(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		w.mustJoin(n, "ada", withFilter(Filter{Lang: "zh-CN"}), botAfter(0))
		time.Sleep(time.Second) // she has waited longer
		w.mustJoin(n, "bob", withFilter(Filter{Category: "art"}), botAfter(0))
		time.Sleep(20 * time.Second)
		w.checkWaits(n, "ada")
		w.mustJoin(n, "eve", botAfter(0))
		if p := w.plan(n, "eve"); p != w.plan(n, "ada") {
			w.Errorf("%+v", p)
		}
		w.checkWaits(n, "bob")
	})
}

func TestQuestionsAvoidThoseSeen(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		seen := map[string]bool{}
		for i := range 3 { // the bank has 30 questions
			w.mustJoin(n, "ada")
			w.mustJoin(n, fmt.Sprint("other ", i))
			p := w.plan(n, "ada")
			for _, q := range p.Questions {
				if seen[q.ID] {
					w.Errorf("duel %d: %s again", i, q.ID)
				}
				seen[q.ID] = true
			}
			w.records.mu.Lock()
			w.records.over[p.ID] = true
			w.records.mu.Unlock()
		}
		if len(w.seen.seen["ada"]) != 30 || len(w.seen.seen["other 2"]) != 10 {
			w.Errorf("%v", w.seen.seen)
		}
	})
}

// When one node pairs two tickets, the other node attaches its player soon.
func TestANodeFollowsThePairingOfAnother(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		w.mustJoin(a, "ada")
		w.mustJoin(b, "bob")
		p := w.plan(b, "bob")
		time.Sleep(550 * time.Millisecond)
		if w.plan(a, "ada") != p {
			w.Error("another match")
		}
		time.Sleep(time.Minute)
		if len(w.records.plans) != 1 || a.countTickets() != 0 || b.countTickets() != 0 {
			w.Errorf("%d matches, %d and %d tickets held", len(w.records.plans), a.countTickets(), b.countTickets())
		}
	})
}

// A node dies after it has paired two tickets and before it creates the match.
// Another node creates it and attaches its player.
func TestASweepFinishesThePairingOfADeadNode(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		w.mustJoin(a, "ada")
		b.matches.shut = func() bool { return true }
		w.mustJoin(b, "bob")
		b.kill()
		if len(w.store.pairings) != 1 {
			w.Fatalf("%v", w.store.pairings)
		}
		for _, player := range []string{"ada", "bob"} { // a paired player cannot join again
			if err := a.join(player); code(err) != "already_playing" {
				w.Errorf("%s: %v", player, err)
			}
		}
		time.Sleep(2900 * time.Millisecond)
		w.checkWaits(a, "ada") // the node might only be slow
		time.Sleep(2200 * time.Millisecond)
		p := w.plan(a, "ada")
		if _, ok := p.Seat("bob"); !ok || len(w.store.pairings) != 0 || len(w.records.plans) != 1 {
			w.Errorf("%+v, pairings %v", p, w.store.pairings)
		}
	})
}

// The pairing node is slow. The players at the other node wait for the match,
// however often their tickets are tried.
func TestANodeWaitsForAMatchThatIsForming(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		w.mustJoin(a, "ada")
		began := now()
		b.matches.shut = func() bool { return now()-began < 1700 }
		w.mustJoin(b, "bob")
		time.Sleep(10 * time.Second)
		if w.plan(a, "ada") != w.plan(b, "bob") || a.countTickets() != 0 || b.countTickets() != 0 {
			w.Errorf("%d matches, %d and %d tickets held", len(w.records.plans), a.countTickets(), b.countTickets())
		}
	})
}

// The store is down for longer than a ticket lives without renewal. The tickets
// come back, and there are few tries in between.
func TestTheStoreIsDownForAWhile(t *testing.T) {
	inBubble(t, func(w *cluster) {
		w.skill["bob"] = 9000
		n := w.node()
		w.mustJoin(n, "ada", botAfter(2000))
		w.mustJoin(n, "bob", botAfter(0))
		n.link.set(func(string) fault { return fails })
		time.Sleep(7 * time.Second)
		if tries := n.link.called("ListNearest"); tries > 32 {
			w.Errorf("%d tries in 7 s", tries)
		}
		n.link.set(nil)
		time.Sleep(600 * time.Millisecond)
		if p := w.plan(n, "ada"); !p.Seats[1].Bot {
			w.Errorf("%+v", p)
		}
		time.Sleep(10 * time.Second)
		w.mustJoin(n, "eve")
		if p := w.plan(n, "bob"); p != w.plan(n, "eve") {
			w.Errorf("%+v", p)
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
			inBubble(t, func(w *cluster) {
				n := w.node()
				for i := range others {
					other := ticket(fmt.Sprint("p_", i), 1500, now())
					other.Filter.Lang = "zh-CN"
					if _, _, err := w.store.AddTicket(w.Context(), other, Activity{}, now()); err != nil {
						w.Fatal(err)
					}
				}
				w.skill["bob"] = 1550
				w.mustJoin(n, "bob", botAfter(0), withFilter(Filter{Lang: "en"}))
				w.mustJoin(n, "ada", botAfter(0), withFilter(Filter{Lang: "en"}))
				if got := n.matches.match("ada") != ""; got != want {
					w.Errorf("seen: %v", got)
				}
			})
		})
	}
}

// Forty players are at three nodes, and a third of all calls fail or lose their
// reply. Each player is in exactly one match and attached to it.
func TestEverybodyIsPairedOnce(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]fault{"all well": works, "lost": loses, "failed": fails} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(w *cluster) {
				nodes := []*node{w.node(), w.node(), w.node()}
				for _, n := range nodes {
					n.link.set(func(method string) fault {
						if method != "AddTicket" && rand.IntN(3) == 0 {
							return failure
						}
						return works
					})
				}
				for i := range 40 {
					w.skill[fmt.Sprint("p_", i)] = 1400 + 5*float64(i)
				}
				var all sync.WaitGroup
				for i := range 40 {
					all.Go(func() { // until the store accepts it
						err := errDown
						for errors.Is(err, errDown) {
							err = nodes[i%3].join(fmt.Sprint("p_", i), botAfter(0))
						}
						if err != nil {
							w.Error(err)
						}
					})
				}
				all.Wait()
				time.Sleep(time.Minute)
				synctest.Wait()
				w.checkAllPaired(nodes, 40)
			})
		})
	}
}

func (w *cluster) checkAllPaired(nodes []*node, players int) {
	w.Helper()
	seats := map[string]string{}
	for id, p := range w.records.plans {
		for _, s := range p.Seats {
			if seats[s.Player] != "" || s.Bot {
				w.Errorf("%s is in %s and %s", s.Player, seats[s.Player], id)
			}
			seats[s.Player] = id
		}
	}
	if len(seats) != players || len(w.store.pairings) != 0 {
		w.Errorf("%d of %d are in a match, pairings %v", len(seats), players, w.store.pairings)
	}
	for i := range players {
		player := fmt.Sprint("p_", i)
		if attached := nodes[i%3].matches.match(player); attached != seats[player] {
			w.Errorf("%s was attached to %q and has a seat in %q", player, attached, seats[player])
		}
	}
}
