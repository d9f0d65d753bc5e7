package crowd

import (
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/player"
)

// Who is turned away again and again comes back later each time, up to eight times as
// late as a node asks for.
func TestTurnedAwayAgain(t *testing.T) {
	t.Parallel()
	p := &part{person: &person{Roamer: new(player.Roamer), c: &Crowd{}}, entry: duel(), group: t.Context()}
	h := player.Heard{To: &player.Request{Kind: protocol.TypeDuelJoin}}
	h.Data = []byte(`{"code":"overloaded","message":"later","retry_after_ms":100000}`)
	for _, want := range []time.Duration{100, 200, 300, 400, 500, 600, 700, 800, 800} { // seconds
		if err := p.refused(h); err != nil || p.again != h.To {
			t.Fatalf("%v: %+v", err, p.again)
		}
		if wait := time.Until(p.at).Round(10 * time.Second); wait != want*time.Second {
			t.Errorf("it comes back after %v, not %v", wait, want*time.Second)
		}
	}
}
