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
func TestDuelsWithTheSameAddressCountIfTheGameAllowsIt(t *testing.T) {
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
			t.Run(fmt.Sprintf("%s and %s, excluded %v", c.one, c.other, matter), func(t *testing.T) {
				inVirtualTime(t, func(test *cluster) {
					test.excludeSameAddress = matter
					a, b := test.startNode(), test.startNode()
					test.mustJoin(a, "ada", botAfter(0), fromAddress(c.one))
					test.mustJoin(b, "bob", botAfter(0), fromAddress(c.other))
					time.Sleep(time.Second)
					want := !matter || !c.same
					if p := test.attachedPlan(a, "ada"); p != test.attachedPlan(b, "bob") || p.CountsForLeaderboards != want || p.Rated != want {
						test.Errorf("counts %v, rated %v, want %v", p.CountsForLeaderboards, p.Rated, want)
					}
				})
			})
		}
	}
}

// If the node of a pairing dies, another node applies the same rule.
func TestATakenOverDuelWithTheSameAddressDoesNotCount(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		test.excludeSameAddress = true
		_, b, id, open := test.newFormingMatch(fromAddress("192.0.2.7"))
		open()
		advanceTime(takeOverAfterMS*time.Millisecond + 2*sweepInterval)
		if p := test.attachedPlan(b, "bob"); p.ID != id || p.CountsForLeaderboards || p.Rated {
			test.Errorf("%+v", p)
		}
	})
}

// If the game counts duels of one address, a ticket stores nothing about the
// address. Otherwise it stores a hash that is useless without the key and
// differs between games.
func TestATicketDoesNotStoreTheAddress(t *testing.T) {
	inVirtualTime(t, func(test *cluster) {
		for _, matter := range []bool{false, true} {
			test.excludeSameAddress = matter
			n := test.startNode()
			ticket, err := n.newTicket(Request{Game: "demo", Player: "ada", Address: netip.MustParseAddr("192.0.2.7")})
			if err != nil {
				test.Fatal(err)
			}
			text, err := json.Marshal(ticket)
			if err != nil {
				test.Fatal(err)
			}
			if strings.Contains(string(text), "192.0.2") || strings.Contains(string(text), `"address"`) != matter {
				test.Errorf("excluded %v: %s", matter, text)
			}
			other := n.addressHash("other", netip.MustParseAddr("192.0.2.7")) // the zero settings do not count them
			if matter && (other == "" || other == ticket.Address) {
				test.Errorf("another game has %q, this one %q", other, ticket.Address)
			}
			former := ticket.Address
			n.AddressKey = []byte("another key")
			if matter && n.addressHash("demo", netip.MustParseAddr("192.0.2.7")) == former {
				test.Error("the hash does not depend on the key")
			}
		}
	})
}
