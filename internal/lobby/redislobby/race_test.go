package redislobby

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/oklog/ulid/v2"

	"laststand/internal/lobby"
)

// Forty tickets come in at three nodes at once, each with an eye on all others:
// every one is in one pairing, none in two.
func TestEveryTicketIsPairedOnce(t *testing.T) {
	each(t, func(h *hall) {
		nodes := []*Store{New(h.client), New(h.client), New(h.client)}
		var all sync.WaitGroup
		for i := range 40 {
			all.Go(func() { h.seek(nodes[i%3], h.ticket(fmt.Sprint("p_", i), 1500+float64(i%7))) })
		}
		all.Wait()
		pairings, err := h.Pairings(h.Context(), h.game)
		if err != nil || len(pairings) != 20 {
			h.Errorf("%d pairings, %v", len(pairings), err)
		}
		in := map[string]string{}
		for _, p := range pairings {
			for _, tk := range p.Tickets {
				if in[tk.ID] != "" {
					h.Errorf("%s is in %s and %s", tk.ID, in[tk.ID], p.Match)
				}
				in[tk.ID] = p.Match
				h.checkWhere(tk.Seat.Player, lobby.Busy{Match: p.Match, Forming: true})
			}
		}
		if len(in) != 40 {
			h.Errorf("%d tickets are in a pairing", len(in))
		}
		k := keys{h.game}
		if n := h.client.HLen(h.Context(), k.tickets()).Val() + h.client.ZCard(h.Context(), k.waiting()).Val() + h.client.ZCard(h.Context(), k.alive()).Val(); n != 0 {
			h.Errorf("%d entries of tickets are left", n)
		}
	})
}

// seek enters a ticket and pairs it with anyone until it does not wait any
// more.
func (h *hall) seek(node *Store, t lobby.Ticket) {
	if _, with, err := node.Enter(h.Context(), t, lobby.Busy{}, epoch); err != nil || with != (lobby.Busy{}) {
		h.Errorf("%s: %+v, %v", t.ID, with, err)
		return
	}
	for {
		near, waits, err := node.Near(h.Context(), t, epoch)
		if err != nil {
			h.Error(err)
			return
		}
		if !waits {
			return
		}
		if len(near) == 0 {
			continue
		}
		p := lobby.Pairing{Match: "m_" + ulid.Make().String(), At: epoch, Tickets: []lobby.Ticket{t, near[rand.IntN(len(near))]}}
		if _, err := node.Pair(h.Context(), p); err != nil {
			h.Error(err)
			return
		}
	}
}
