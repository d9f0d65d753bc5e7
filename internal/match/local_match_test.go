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
	if duel.race.slot != nil || duel.members.byPlayer != nil {
		t.Errorf("%v, %v", duel.race.slot, duel.members.byPlayer)
	}
	arena := newLocalMatch(View{Plan: newArena(Buzzer, 2)})
	arena.members.store(Member{Seat: Seat{Player: ada}, Role: SpectatorRole})
	if cap(arena.race.slot) != 1 || !arena.members.hasRole(ada, SpectatorRole) {
		t.Errorf("%d, %+v", cap(arena.race.slot), arena.members.byPlayer)
	}
}
