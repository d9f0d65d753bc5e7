package crowd

import (
	"context"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// Who is to leave takes the ticket back, also where none is known of: a node that was
// asked for one and did not know what became of it may have put it in. A match that was
// made before is waited for.
func TestLeaving(t *testing.T) {
	t.Parallel()
	group, quit := context.WithCancel(t.Context())
	quit()
	for name, joined := range map[string]bool{"queued": true, "refused for now": false} {
		c := &Crowd{Order: Order{Linger: time.Hour}, life: t.Context()}
		p := &part{person: &person{Roamer: new(player.Roamer), c: c}, entry: duel(), group: group, joined: joined}
		if !joined {
			p.repeat(&player.Request{Kind: protocol.TypeDuelJoin}, time.Hour)
		}
		if p.life().Err() != nil {
			t.Errorf("%s: it would leave at once", name)
		}
		p.act(time.Now())
		if !p.Waits(protocol.TypeDuelLeave) || p.again != nil || p.life().Err() != nil {
			t.Errorf("%s: the ticket is not taken back: %+v", name, p)
		}
		p.left()
		if !p.gone || time.Until(p.at) < 50*time.Minute {
			t.Errorf("%s: it is gone %v after %v", name, p.gone, time.Until(p.at))
		}
	}
}
