package match

import (
	"bytes"
	"slices"
	"testing"
)

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
			later.Seq = 99
			if done, _ := local.deliver(delivery{state: &later}); !done {
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
	if duel.members.byPlayer != nil {
		t.Errorf("%v", duel.members.byPlayer)
	}
	arena := newLocalMatch(View{Plan: newArena(Buzzer, 2)})
	arena.members.store(Member{Seat: Seat{Player: ada}, Role: SpectatorRole})
	if arena.hasSeat(ada) || !duel.hasSeat(ada) {
		t.Errorf("%+v", arena.members.byPlayer)
	}
}

// A delivery that comes before an earlier one waits for it. Then both are pushed in order,
// and the newest state is kept.
func TestEarlyDeliveriesWaitForEarlierOnes(t *testing.T) {
	t.Parallel()
	session := new(frameRecorder)
	local := newLocalMatch(View{Plan: newPlan("m_1", 0, 2), State: State{Phase: PhaseOpen, Seq: 1, Version: 2}})
	local.sessions[ada] = session
	frames := func(firstSeq int64, all ...string) delivery {
		d := delivery{frames: numberedFrames{firstSeq: firstSeq}}
		for _, frame := range all {
			d.frames.encoded = append(d.frames.encoded, []byte(frame))
		}
		return d
	}
	step := frames(4, "4", "5")
	step.state = &State{Phase: PhaseRevealed, Version: 5}
	for _, early := range []delivery{step, frames(3, "3")} {
		if done, resumed := local.deliver(early); done || resumed || len(local.early) == 0 {
			t.Errorf("delivered from %d: %v, %v", early.frames.firstSeq, done, resumed)
		}
	}
	if done, resumed := local.deliver(frames(2, "2")); !done || !resumed || len(local.early) > 0 {
		t.Errorf("delivered %v, resumed %v", done, resumed)
	}
	if got := bytes.Join(session.frames(), nil); string(got) != "2345" || local.knownState().Phase != PhaseRevealed {
		t.Errorf("frames %s, state %+v", got, local.knownState())
	}
	for i := range 2 * maxEarlyDeliveries {
		local.deliver(frames(int64(10+i), "x"))
	}
	if len(local.early) != maxEarlyDeliveries {
		t.Errorf("%d deliveries wait", len(local.early))
	}
	local.catchUp(View{State: State{Phase: PhaseOpen, Question: 1, Seq: 30, Version: 9}, Frames: slices.Repeat([][]byte{[]byte("y")}, 25)})
	if len(local.early) > 0 {
		t.Error("deliveries wait for pushes that were read from the log")
	}
}
