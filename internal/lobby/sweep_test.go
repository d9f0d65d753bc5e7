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

// startFormingMatch pairs two players at two nodes. Their match cannot be created
// until allowStart is called.
func (c *cluster) startFormingMatch(changes ...func(*Request)) (nodeA, nodeB *node, id string, allowStart func()) {
	c.Helper()
	nodeA, nodeB = c.startNode(), c.startNode()
	failsStart := true // guarded by the mutex of matchRecords
	for _, n := range []*node{nodeA, nodeB} {
		n.matches.shouldFailStart = func() bool { return failsStart }
	}
	changes = append(changes, botAfter(0))
	c.mustJoin(nodeA, "ada", changes...)
	c.mustJoin(nodeB, "bob", changes...)
	synctest.Wait()
	for id = range c.store.copyTables().pairings {
		return nodeA, nodeB, id, func() {
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
func TestPairingWithoutMatchIsRolledBack(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		startMS := now()
		nodeA, nodeB, firstMatch, allowStart := test.startFormingMatch()
		advanceTime(29 * time.Second)
		if stored := test.store.copyTables(); len(stored.pairings) != 1 || stored.pairings[firstMatch].Match != firstMatch || test.records.isTombstoned(firstMatch) {
			test.Fatalf("pairings %v, tombstoned %v", stored.pairings, test.records.isTombstoned(firstMatch))
		}
		advanceTime(3 * time.Second)
		stored := test.store.copyTables()
		if _, isStored := stored.pairings[firstMatch]; isStored || !test.records.isTombstoned(firstMatch) {
			test.Fatalf("pairings %v, tombstoned %v", stored.pairings, test.records.isTombstoned(firstMatch))
		}
		for _, p := range stored.pairings { // the two are paired again
			for _, t := range p.Tickets {
				if t.JoinedAt != startMS {
					test.Errorf("%s has joined at %d, not %d", t.ID, t.JoinedAt, startMS)
				}
			}
		}
		allowStart()
		advanceTime(6 * time.Second)
		p := test.attachedPlan(nodeA, "ada")
		if stored := test.store.copyTables(); p != test.attachedPlan(nodeB, "bob") || p.ID == firstMatch || nodeA.countTickets() != 0 || nodeB.countTickets() != 0 || len(stored.aliveUntil) != 0 {
			test.Errorf("%s after %s; %d and %d tickets in memory, alive %v", p.ID, firstMatch, nodeA.countTickets(), nodeB.countTickets(), stored.aliveUntil)
		}
	})
}

// One ticket has expired: its player is free, and the other player waits.
func TestRollBackFreesThePlayerOfAnExpiredTicket(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		nodeA, nodeB, _, _ := test.startFormingMatch()
		nodeB.kill()
		advanceTime(33 * time.Second)
		tables := test.store.copyTables()
		if tables.activities["bob"] != (Activity{}) || tables.activities["ada"].Ticket == "" || len(tables.tickets) != 1 || len(tables.aliveUntil) != 1 {
			test.Errorf("%+v", tables)
		}
		test.checkWaits(nodeA, "ada")
	})
}

// The match was created, and only the reply was lost. The pairing is complete,
// and no ticket waits again.
func TestPairingWithMatchIsNotRolledBack(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n, start := test.startNode(), now()
		n.store.setFault(func(method string) storeFault {
			if method == "CompletePairing" && now()-start < rollBackAfterMS {
				return faultNotExecuted
			}
			return faultNone
		})
		test.mustJoin(n, "ada")
		test.mustJoin(n, "bob")
		id := test.attachedPlan(n, "ada").ID
		advanceTime(33 * time.Second)
		tables := test.store.copyTables()
		if len(tables.pairings) != 0 || len(test.records.created()) != 1 || tables.activities["ada"].Match != id || n.countTickets() != 0 {
			test.Errorf("%+v, matches %v, %d tickets in memory", tables, test.records.created(), n.countTickets())
		}
	})
}

// A node stalls before it creates the match of a pairing, and others roll the
// pairing back. The stalled node cannot create the match any more.
func TestStalledNodeCannotCreateRolledBackMatch(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		_, stalledNode, firstMatch, allowStart := test.startFormingMatch()
		stalePairing := test.store.copyTables().pairings[firstMatch]
		advanceTime(33 * time.Second)
		allowStart()
		if err := stalledNode.startMatch(test.Context(), stalePairing); err == nil {
			test.Error("the match was created")
		}
		advanceTime(6 * time.Second)
		if created := test.records.created(); len(created) != 1 || created[0] == firstMatch {
			test.Errorf("matches %v; the pairing of %s was rolled back", created, firstMatch)
		}
	})
}
