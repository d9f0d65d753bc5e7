package match

import "testing"

// A node keeps the newest state, in whatever order states arrive.
func TestNodeKeepsNewestState(t *testing.T) {
	t.Parallel()
	states := []State{
		{Phase: PhaseCountdown, Question: -1, Version: 1},
		{Phase: PhaseOpen, DueAt: 1, Version: 2}, {Phase: PhaseOpen, DueAt: 2, Extended: true, Version: 3},
		{Phase: PhaseSealed, Version: 5}, {Phase: PhaseRevealed, Version: 6},
		{Phase: PhaseOpen, Question: 1, Version: 7}, {Phase: PhaseOver, Question: 1, Version: 12}, {Phase: PhaseSettled, Question: 1, Version: 12},
	}
	for i, former := range states {
		for j, later := range states {
			local := newLocalMatch(View{Plan: newPlan("m_1", 0, 2), State: former})
			local.state.Seq = 7
			if later.Seq = 99; !local.deliver(delivery{state: &later}) {
				t.Fatal("no frame was missing")
			}
			want := states[max(i, j)]
			if former.Version == later.Version {
				want.Phase = later.Phase
			}
			if got := local.knownState(); got.Phase != want.Phase || got.DueAt != want.DueAt || got.Version != want.Version || got.Seq != 7 {
				t.Errorf("known %+v, received %+v, kept %+v", former, later, got)
			}
		}
	}
}

// A duel allocates nothing that only other modes need, because most matches are
// duels.
func TestDuelAllocatesNothingForArenas(t *testing.T) {
	t.Parallel()
	duel := newLocalMatch(View{Plan: newPlan("m_1", 0, 2)})
	if duel.raceSlot != nil || duel.members != nil {
		t.Errorf("%v, %v", duel.raceSlot, duel.members)
	}
	arena := newLocalMatch(View{Plan: newArena(Buzzer, 2)})
	arena.storeMember(Member{Seat: Seat{Player: ada}, Role: SpectatorRole})
	if cap(arena.raceSlot) != 1 || arena.hasSeat(ada) || !duel.hasSeat(ada) {
		t.Errorf("%d, %+v", cap(arena.raceSlot), arena.members)
	}
}
