package lobby

import (
	"testing"
	"testing/synctest"
	"time"
)

// advanceTime advances the virtual time and runs what is due then.
func advanceTime(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// newFormingMatch pairs two players at two nodes. Their match cannot be created
// until allowStart is called.
func (c *cluster) newFormingMatch(tune ...func(*Request)) (a, b *node, id string, allowStart func()) {
	c.Helper()
	a, b = c.startNode(), c.startNode()
	failsStart := true // guarded by the mutex of matchRecords
	for _, n := range []*node{a, b} {
		n.matches.shouldFailStart = func() bool { return failsStart }
	}
	tune = append(tune, botAfter(0))
	c.mustJoin(a, "ada", tune...)
	c.mustJoin(b, "bob", tune...)
	synctest.Wait()
	for id = range c.store.copyTables().pairings {
		return a, b, id, func() {
			c.records.mu.Lock()
			defer c.records.mu.Unlock()
			failsStart = false
		}
	}
	c.Fatal("the two tickets were not paired")
	return nil, nil, "", nil
}

// A pairing whose match cannot be created is rolled back after 30 s. Its match
// is tombstoned, and the tickets wait again with their age.
func TestAPairingIsRolledBack(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		startMS := now()
		a, b, first, open := test.newFormingMatch()
		advanceTime(29 * time.Second)
		if stored := test.store.copyTables(); len(stored.pairings) != 1 || stored.pairings[first].Match != first || test.records.isTombstoned(first) {
			test.Fatalf("pairings %v, tombstoned %v", stored.pairings, test.records.isTombstoned(first))
		}
		advanceTime(3 * time.Second)
		stored := test.store.copyTables()
		if _, still := stored.pairings[first]; still || !test.records.isTombstoned(first) {
			test.Fatalf("pairings %v, tombstoned %v", stored.pairings, test.records.isTombstoned(first))
		}
		for _, p := range stored.pairings { // the two are paired again
			for _, t := range p.Tickets {
				if t.JoinedAt != startMS {
					test.Errorf("%s has joined at %d, not %d", t.ID, t.JoinedAt, startMS)
				}
			}
		}
		open()
		advanceTime(6 * time.Second)
		p := test.attachedPlan(a, "ada")
		if stored := test.store.copyTables(); p != test.attachedPlan(b, "bob") || p.ID == first || a.countTickets() != 0 || b.countTickets() != 0 || len(stored.alive) != 0 {
			test.Errorf("%s after %s; %d and %d tickets in memory, alive %v", p.ID, first, a.countTickets(), b.countTickets(), stored.alive)
		}
	})
}

// One ticket has expired: its player is free, and the other player waits.
func TestRollBackFreesThePlayerOfAnExpiredTicket(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		a, b, _, _ := test.newFormingMatch()
		b.kill()
		advanceTime(33 * time.Second)
		kept := test.store.copyTables()
		if kept.busy["bob"] != (Activity{}) || kept.busy["ada"].Ticket == "" || len(kept.tickets) != 1 || len(kept.alive) != 1 {
			test.Errorf("%+v", kept)
		}
		test.checkWaits(a, "ada")
	})
}

// The match was created, and only the reply was lost. The pairing is complete,
// and no ticket waits again.
func TestAPairingWithAMatchIsNotRolledBack(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		n, began := test.startNode(), now()
		n.store.setFault(func(method string) storeFault {
			if method == "CompletePairing" && now()-began < rollBackAfterMS {
				return faultNotExecuted
			}
			return faultNone
		})
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		id := test.attachedPlan(n, "ada").ID
		advanceTime(33 * time.Second)
		kept := test.store.copyTables()
		if len(kept.pairings) != 0 || len(test.records.created()) != 1 || kept.busy["ada"].Match != id || n.countTickets() != 0 {
			test.Errorf("%+v, matches %v, %d tickets in memory", kept, test.records.created(), n.countTickets())
		}
	})
}

// A node stalls before it creates the match of a pairing, and others roll the
// pairing back. The stalled node cannot create the match any more.
func TestAStalledNodeCannotCreateARolledBackMatch(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		_, b, first, open := test.newFormingMatch()
		stale := test.store.copyTables().pairings[first]
		advanceTime(33 * time.Second)
		open()
		if err := b.startMatch(test.Context(), stale); err == nil {
			test.Error("the match was created")
		}
		advanceTime(6 * time.Second)
		if created := test.records.created(); len(created) != 1 || created[0] == first {
			test.Errorf("matches %v; the pairing of %s was rolled back", created, first)
		}
	})
}
