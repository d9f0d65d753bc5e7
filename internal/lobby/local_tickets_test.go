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
		mapAddress := func() uintptr { return reflect.ValueOf(n.tickets).Pointer() }
		before := mapAddress()
		const manyTickets = 100
		for i := range manyTickets {
			n.scheduleTry(Ticket{ID: fmt.Sprint(i), Game: "demo", Seat: match.Seat{Player: fmt.Sprint(i)}}, time.Hour, false)
		}
		for i := range manyTickets {
			if mapAddress() != before || !n.HasTicket("demo", fmt.Sprint(i)) {
				test.Fatalf("the map was replaced, or ticket %d does not wait", i)
			}
			n.drop(playerKey{"demo", fmt.Sprint(i)}, fmt.Sprint(i))
			if n.HasTicket("demo", fmt.Sprint(i)) {
				test.Fatalf("ticket %d still waits", i)
			}
		}
		if mapAddress() == before {
			test.Error("the memory of many tickets was not released")
		}
	})
}
