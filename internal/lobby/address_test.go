package lobby

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func fromAddress(address string) func(*Request) {
	return func(r *Request) { r.Address, _ = netip.ParseAddr(address) }
}

// A duel between two players of one address counts only if the game allows it.
// IPv6 addresses of one /64 network count as the same address.
func TestDuelsOfOneAddressCountIfTheGameAllowsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"192.0.2.7", "192.0.2.7", true},
		{"192.0.2.7", "::ffff:192.0.2.7", true},
		{"192.0.2.7", "192.0.2.8", false},
		{"2001:db8:0:1::7", "2001:db8:0:1:ffff::9", true},
		{"2001:db8:0:1::7", "2001:db8:0:2::7", false},
		{"", "", false}, // unknown
	} {
		for _, matter := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s and %s, matter %v", c.one, c.other, matter), func(t *testing.T) {
				inBubble(t, func(w *cluster) {
					w.addressesMatter = matter
					a, b := w.node(), w.node()
					w.mustJoin(a, "ada", botAfter(0), fromAddress(c.one))
					w.mustJoin(b, "bob", botAfter(0), fromAddress(c.other))
					time.Sleep(time.Second)
					want := !matter || !c.same
					if p := w.plan(a, "ada"); p != w.plan(b, "bob") || p.Counts != want || p.Rated != want {
						w.Errorf("counts %v, rated %v, want %v", p.Counts, p.Rated, want)
					}
				})
			})
		}
	}
}

// If the node of a pairing dies, another node applies the same rule.
func TestATakenOverDuelOfOneAddressDoesNotCount(t *testing.T) {
	inBubble(t, func(w *cluster) {
		w.addressesMatter = true
		_, b, id, open := w.newFormingMatch(fromAddress("192.0.2.7"))
		open()
		pass(takeOverAfterMS*time.Millisecond + 2*sweepEvery)
		if p := w.plan(b, "bob"); p.ID != id || p.Counts || p.Rated {
			w.Errorf("%+v", p)
		}
	})
}

// If the game counts duels of one address, a ticket stores nothing about the
// address. Otherwise it stores a hash that is useless without the key and
// differs between games.
func TestATicketKeepsNoAddress(t *testing.T) {
	inBubble(t, func(w *cluster) {
		for _, matter := range []bool{false, true} {
			w.addressesMatter = matter
			n := w.node()
			ticket, err := n.newTicket(Request{Game: "demo", Player: "ada", Address: netip.MustParseAddr("192.0.2.7")})
			if err != nil {
				w.Fatal(err)
			}
			text, err := json.Marshal(ticket)
			if err != nil {
				w.Fatal(err)
			}
			if strings.Contains(string(text), "192.0.2") || strings.Contains(string(text), `"address"`) != matter {
				w.Errorf("matter %v: %s", matter, text)
			}
			other := n.addressHash("other", netip.MustParseAddr("192.0.2.7")) // the zero settings do not count them
			if matter && (other == "" || other == ticket.Address) {
				w.Errorf("another game has %q, this one %q", other, ticket.Address)
			}
			former := ticket.Address
			n.AddressKey = []byte("another key")
			if matter && n.addressHash("demo", netip.MustParseAddr("192.0.2.7")) == former {
				w.Error("the key does not matter")
			}
		}
	})
}
