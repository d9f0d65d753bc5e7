package match

import "testing"

// The course of a match as states: each is newer than those before it.
func TestNewer(t *testing.T) {
	t.Parallel()
	course := []State{
		{Phase: Countdown, Question: -1},
		{Phase: Open}, {Phase: Sealed}, {Phase: Revealed},
		{Phase: Open, Question: 1}, {Phase: Sealed, Question: 1}, {Phase: Revealed, Question: 1},
		{Phase: Over, Question: 1}, {Phase: Settled, Question: 1},
	}
	for i, former := range course {
		for j, later := range course {
			l := newLive(View{State: former})
			l.state.Seq = 7
			l.reach(later)
			want := course[max(i, j)]
			want.Seq = 7
			if l.state != want {
				t.Errorf("from %+v, told of %+v, it is at %+v", former, later, l.state)
			}
		}
	}
}
