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
	for _, testCase := range []struct {
		adaAddress, bobAddress string
		isSame                 bool
	}{
		{"192.0.2.7", "192.0.2.7", true},
		{"192.0.2.7", "::ffff:192.0.2.7", true},
		{"192.0.2.7", "192.0.2.8", false},
		{"2001:db8:0:1::7", "2001:db8:0:1:ffff::9", true},
		{"2001:db8:0:1::7", "2001:db8:0:2::7", false},
		{"", "", false}, // unknown
	} {
		for _, excluded := range []bool{false, true} {
			runNamedInCluster(t, fmt.Sprintf("%s and %s, excluded %v", testCase.adaAddress, testCase.bobAddress, excluded), func(test *cluster) {
				test.excludeSameAddress = excluded
				nodeA, nodeB := test.startNode(), test.startNode()
				test.mustJoin(nodeA, "ada", botAfter(0), fromAddress(testCase.adaAddress))
				test.mustJoin(nodeB, "bob", botAfter(0), fromAddress(testCase.bobAddress))
				time.Sleep(time.Second)
				want := !excluded || !testCase.isSame
				if plan := test.attachedPlan(nodeA, "ada"); plan != test.attachedPlan(nodeB, "bob") || plan.CountsForLeaderboards != want || plan.Rated != want {
					test.Errorf("counts %v, rated %v, want %v", plan.CountsForLeaderboards, plan.Rated, want)
				}
			})
		}
	}
}

// If the node of a pairing dies, another node applies the same rule.
func TestTakenOverDuelWithSameAddressDoesNotCount(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		test.excludeSameAddress = true
		_, otherNode, id, allowStart := test.startFormingMatch(fromAddress("192.0.2.7"))
		allowStart()
		advanceTime(takeOverAfterMS*time.Millisecond + 2*sweepInterval)
		if plan := test.attachedPlan(otherNode, "bob"); plan.ID != id || plan.CountsForLeaderboards || plan.Rated {
			test.Errorf("%+v", plan)
		}
	})
}

// If the game counts duels of one address, a ticket stores nothing about the
// address. Otherwise it stores a hash that is useless without the key and
// differs between games.
func TestTicketDoesNotStoreAddress(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		for _, excluded := range []bool{false, true} {
			test.excludeSameAddress = excluded
			n := test.startNode()
			ticket, err := n.newTicket(Request{Game: "demo", Player: "ada", Address: netip.MustParseAddr("192.0.2.7")})
			test.must(err)
			text, err := json.Marshal(ticket)
			test.must(err)
			if strings.Contains(string(text), "192.0.2") || strings.Contains(string(text), `"address"`) != excluded {
				test.Errorf("excluded %v: %s", excluded, text)
			}
			hashInOtherGame := n.addressHash("other", netip.MustParseAddr("192.0.2.7")) // the zero settings do not count them
			if excluded && (hashInOtherGame == "" || hashInOtherGame == ticket.Address) {
				test.Errorf("another game has %q, this one %q", hashInOtherGame, ticket.Address)
			}
			hashWithFirstKey := ticket.Address
			n.AddressKey = []byte("another key")
			if excluded && n.addressHash("demo", netip.MustParseAddr("192.0.2.7")) == hashWithFirstKey {
				test.Error("the hash does not depend on the key")
			}
		}
	})
}
