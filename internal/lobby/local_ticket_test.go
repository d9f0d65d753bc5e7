package lobby

import (
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
)

// When all tickets are gone, the memory of a large number of tickets is
// released.
func TestMemoryOfManyTicketsIsReleased(t *testing.T) {
	runInCluster(t, func(test *cluster) {
		n := test.startNode()
		synctest.Wait()
		mapAddresses := func() [2]uintptr {
			return [2]uintptr{reflect.ValueOf(n.tickets).Pointer(), reflect.ValueOf(n.ticketIDs).Pointer()}
		}
		before := mapAddresses()
		const manyTickets = 100
		for i := range manyTickets {
			n.scheduleTry(Ticket{ID: fmt.Sprint(i), Game: "demo", Seat: match.Seat{Player: fmt.Sprint(i)}}, time.Hour)
		}
		for i := range manyTickets {
			if mapAddresses() != before || !n.HasTicket("demo", fmt.Sprint(i)) {
				test.Fatalf("the maps were replaced, or ticket %d does not wait", i)
			}
			n.dropTicket(fmt.Sprint(i))
			if n.HasTicket("demo", fmt.Sprint(i)) {
				test.Fatalf("ticket %d still waits", i)
			}
		}
		if after := mapAddresses(); after[0] == before[0] || after[1] == before[1] {
			test.Error("the memory of many tickets was not released")
		}
	})
}
