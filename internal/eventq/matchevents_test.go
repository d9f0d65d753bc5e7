package eventq

import (
	"fmt"
	"strings"
	"testing"

	"laststand/internal/match"
)

func started(players ...string) match.LifecycleEvent {
	return match.LifecycleEvent{Game: "demo", Match: "01KAH3ZVXV1T7Q5E8W2R9Y6P4M", Mode: match.Duel, OccurredAt: 1234, Players: players}
}

func finished(players ...string) match.LifecycleEvent {
	t := started(players...)
	t.Ended, t.Reason, t.OccurredAt = true, match.ReasonFinished, 5678
	return t
}

// A match is reported for its players at this node, with the data of their
// sessions.
func TestMatchEventsAreReported(t *testing.T) {
	withHall(t, func(h *hall) {
		a, b := h.node("a"), h.node("b")
		a.Enter("demo", "p_ada", pi)
		a.Enter("demo", "p_gone", "")()
		visit := h.reported(Online)[0]
		a.OnMatchLifecycle(started("p_ada", "p_gone", "p_never"))
		a.OnMatchLifecycle(finished("p_ada", "p_gone", "p_never"))
		b.OnMatchLifecycle(finished("p_ada")) // is not there
		var got []Behaviour
		for _, b := range h.reported("") {
			if b.Type == MatchStart || b.Type == MatchEnd {
				got = append(got, b)
			}
		}
		if len(got) != 2 || got[0].ID[6:] != got[1].ID[4:] || got[0].ID[:6] != "start:" || got[1].ID[:4] != "end:" {
			t.Fatalf("%+v", got)
		}
		begin, end := visit, visit
		begin.ID, begin.Type, begin.At = got[0].ID, MatchStart, 1234
		begin.Data = []byte(`{"match":"01KAH3ZVXV1T7Q5E8W2R9Y6P4M","mode":"duel"}`)
		end.ID, end.Type, end.At = got[1].ID, MatchEnd, 5678
		end.Data = []byte(`{"match":"01KAH3ZVXV1T7Q5E8W2R9Y6P4M","mode":"duel","reason":"finished"}`)
		if fmt.Sprint(got) != fmt.Sprint([]Behaviour{begin, end}) {
			t.Errorf("%+v, want %+v and %+v", got, begin, end)
		}
	})
}

// Two nodes that see the same event of a player use the same id. The id of a long
// name also fits, and is unique.
func TestMatchEventsOfTwoNodesHaveOneID(t *testing.T) {
	withHall(t, func(h *hall) {
		a, b := h.node("a"), h.node("b")
		long := strings.Repeat("x", 63)
		players := []string{"p_ada", long + "1", long + "2"}
		for _, player := range players {
			a.Enter("demo", player, "")
			b.Enter("demo", player, "")
		}
		for _, node := range []*testNode{a, b} {
			node.OnMatchLifecycle(started(players...))
			node.OnMatchLifecycle(finished(players...))
		}
		starts, ends := h.reported(MatchStart), h.reported(MatchEnd)
		if len(starts) != 3 || len(ends) != 3 || h.twice != 6 {
			t.Errorf("%d starts, %d ends, %d offered again", len(starts), len(ends), h.twice)
		}
		for _, b := range append(starts, ends...) {
			if len(b.ID) > 64 {
				t.Errorf("id %q", b.ID)
			}
		}
	})
}

// If a player has two sessions at a node, the newer one counts.
func TestMatchEventWhileASessionIsReplaced(t *testing.T) {
	withHall(t, func(h *hall) {
		p := h.node("a")
		former := p.Enter("demo", "p_ada", "")
		newer := p.Enter("demo", "p_ada", "")
		former()
		p.OnMatchLifecycle(started("p_ada"))
		newer()
		p.OnMatchLifecycle(finished("p_ada"))
		online, starts := h.reported(Online), h.reported(MatchStart)
		if len(starts) != 1 || starts[0].Session != online[1].Session || len(h.reported(MatchEnd)) != 0 {
			t.Errorf("%+v in the visits %+v", starts, online)
		}
		h.pairs(2)
	})
}

// A large arena is reported completely, also in a game that reports only matches.
func TestMatchEventsOfManyPlayers(t *testing.T) {
	withHall(t, func(h *hall) {
		p := h.node("a")
		const players = 10_000
		who := make([]string, players)
		for i := range who {
			who[i] = fmt.Sprint("p_", i)
			p.Enter("starts", who[i], "")
		}
		begin, end := started(who...), finished(who...)
		begin.Game, end.Game = "starts", "starts"
		p.OnMatchLifecycle(begin)
		p.OnMatchLifecycle(end)
		if all := h.reported(""); len(all) != players || all[0].Type != MatchStart {
			t.Errorf("%d of %d", len(all), players)
		}
	})
}
