package clients

import (
	"context"
	"testing"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// A player that must leave takes the ticket back, even if the player knows of none. A node
// that does not know the result of its write may have stored the ticket. If a match was
// made earlier, the player waits for it.
func TestLeaving(t *testing.T) {
	t.Parallel()
	group, quit := context.WithCancel(t.Context())
	quit()
	for name, joined := range map[string]bool{"queued": true, "refused for now": false} {
		c := &Clients{Plan: Plan{LateMatchWait: time.Hour}, ctx: t.Context()}
		p := &participation{client: &client{ReconnectingPlayer: new(player.ReconnectingPlayer), c: c}, entry: duel(), group: group, hasEntered: joined}
		if !joined {
			p.repeat(&player.Request{Kind: protocol.TypeDuelJoin}, time.Hour)
		}
		if p.readContext().Err() != nil {
			t.Errorf("%s: it would leave at once", name)
		}
		p.sendDue(time.Now())
		if !p.IsAwaitingReply(protocol.TypeDuelLeave) || p.retry != nil || p.readContext().Err() != nil {
			t.Errorf("%s: the ticket is not taken back: %+v", name, p)
		}
		p.handleLeft()
		if !p.isRefused || time.Until(p.retryAt) < 50*time.Minute {
			t.Errorf("%s: it is gone %v after %v", name, p.isRefused, time.Until(p.retryAt))
		}
	}
}
