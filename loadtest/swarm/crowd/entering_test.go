package crowd

import (
	"context"
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
	for _, seconds := range []int{100, 200, 300, 400, 500, 600, 700, 800, 800} {
		if err := p.refused(h); err != nil || p.again != h.To {
			t.Fatalf("%v: %+v", err, p.again)
		}
		want := time.Duration(seconds) * time.Second
		if wait := time.Until(p.at).Round(10 * time.Second); wait != want {
			t.Errorf("it comes back after %v, not %v", wait, want)
		}
	}
}

// Who may have a seat in an arena all the same asks on, also in the end: nobody gives
// that back, and the match would count without its player.
func TestTurnedAwayFromAnArena(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	end()
	p := &part{person: &person{Roamer: new(player.Roamer), c: &Crowd{life: t.Context()}}, entry: entry{kind: protocol.TypeArenaJoin, round: new(round)}, group: over}
	h := player.Heard{To: &player.Request{Kind: protocol.TypeArenaJoin}}
	h.Data = []byte(`{"code":"unavailable","message":"later","retry_after_ms":100000}`)
	if err := p.refused(h); err != nil || p.again != h.To || p.gone || p.done() {
		t.Errorf("%v; again %v, gone %v", err, p.again, p.gone)
	}
}

// Who is turned away once nothing new is to begin does not come back; but waits for
// the match that a request may have led to all the same. That it was turned away is
// something that it has heard.
func TestTurnedAwayAtTheEnd(t *testing.T) {
	t.Parallel()
	over, end := context.WithCancel(t.Context())
	end()
	p := &part{person: &person{Roamer: new(player.Roamer), c: &Crowd{Order: Order{Linger: time.Hour}, life: t.Context()}}, entry: duel(), group: over}
	h := player.Heard{To: &player.Request{Kind: protocol.TypeDuelJoin}}
	h.Data = []byte(`{"code":"unavailable","message":"later"}`)
	if err := p.refused(h); err != nil || p.again != nil || !p.gone || time.Until(p.at) < time.Minute {
		t.Errorf("%v; again %v, gone %v in %v", err, p.again, p.gone, time.Until(p.at))
	}
	if p.life().Err() != nil {
		t.Error("it leaves at once")
	}
	if time.Since(p.since) > time.Minute {
		t.Errorf("nothing heard since %v", p.since)
	}
}
