package lobby

import (
	"testing"
	"testing/synctest"
	"time"
)

// pass advances the virtual time and runs what is due then.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// newFormingMatch pairs two players at two nodes. Their match cannot be created
// until open is called.
func (w *cluster) newFormingMatch(tune ...func(*Request)) (a, b *node, id string, open func()) {
	w.Helper()
	a, b = w.node(), w.node()
	shut := true // under the mutex of matchRecords
	for _, n := range []*node{a, b} {
		n.matches.shut = func() bool { return shut }
	}
	tune = append(tune, botAfter(0))
	w.mustJoin(a, "ada", tune...)
	w.mustJoin(b, "bob", tune...)
	synctest.Wait()
	for id = range w.store.copied().pairings {
		return a, b, id, func() {
			w.records.mu.Lock()
			defer w.records.mu.Unlock()
			shut = false
		}
	}
	w.Fatal("the two tickets were not paired")
	return nil, nil, "", nil
}

// A pairing whose match cannot be created is rolled back after 30 s. Its match
// is tombstoned, and the tickets wait again with their age.
func TestAPairingIsRolledBack(t *testing.T) {
	inBubble(t, func(w *cluster) {
		began := now()
		a, b, first, open := w.newFormingMatch()
		pass(29 * time.Second)
		if kept := w.store.copied(); len(kept.pairings) != 1 || kept.pairings[first].Match != first || w.records.isTombstoned(first) {
			w.Fatalf("pairings %v, tombstoned %v", kept.pairings, w.records.isTombstoned(first))
		}
		pass(3 * time.Second)
		kept := w.store.copied()
		if _, still := kept.pairings[first]; still || !w.records.isTombstoned(first) {
			w.Fatalf("pairings %v, tombstoned %v", kept.pairings, w.records.isTombstoned(first))
		}
		for _, p := range kept.pairings { // the two are paired again
			for _, t := range p.Tickets {
				if t.JoinedAt != began {
					w.Errorf("%s has joined at %d, not %d", t.ID, t.JoinedAt, began)
				}
			}
		}
		open()
		pass(6 * time.Second)
		p := w.plan(a, "ada")
		if kept := w.store.copied(); p != w.plan(b, "bob") || p.ID == first || a.countTickets() != 0 || b.countTickets() != 0 || len(kept.alive) != 0 {
			w.Errorf("%s after %s; %d and %d tickets held, alive %v", p.ID, first, a.countTickets(), b.countTickets(), kept.alive)
		}
	})
}

// One ticket has expired: its player is free, and the other player waits.
func TestRollBackFreesThePlayerOfAnExpiredTicket(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b, _, _ := w.newFormingMatch()
		b.kill()
		pass(33 * time.Second)
		kept := w.store.copied()
		if kept.busy["bob"] != (Activity{}) || kept.busy["ada"].Ticket == "" || len(kept.tickets) != 1 || len(kept.alive) != 1 {
			w.Errorf("%+v", kept)
		}
		w.checkWaits(a, "ada")
	})
}

// The match was created, and only the reply was lost. The pairing is complete,
// and no ticket waits again.
func TestAPairingWithAMatchIsNotRolledBack(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n, began := w.node(), now()
		n.link.set(func(method string) fault {
			if method == "CompletePairing" && now()-began < rollBackAfterMS {
				return fails
			}
			return works
		})
		w.mustJoin(n, "ada")
		w.mustJoin(n, "bob")
		id := w.plan(n, "ada").ID
		pass(33 * time.Second)
		kept := w.store.copied()
		if len(kept.pairings) != 0 || len(w.records.created()) != 1 || kept.busy["ada"].Match != id || n.countTickets() != 0 {
			w.Errorf("%+v, matches %v, %d held", kept, w.records.created(), n.countTickets())
		}
	})
}

// A node stalls before it creates the match of a pairing, and others roll the
// pairing back. The stalled node cannot create the match any more.
func TestAStalledNodeCannotCreateARolledBackMatch(t *testing.T) {
	inBubble(t, func(w *cluster) {
		_, b, first, open := w.newFormingMatch()
		stale := w.store.copied().pairings[first]
		pass(33 * time.Second)
		open()
		if err := b.startMatch(w.Context(), stale); err == nil {
			w.Error("it was created")
		}
		pass(6 * time.Second)
		if created := w.records.created(); len(created) != 1 || created[0] == first {
			w.Errorf("%v, %s was undone", created, first)
		}
	})
}
