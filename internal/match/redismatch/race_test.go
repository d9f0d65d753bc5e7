package redismatch

import (
	"reflect"
	"slices"
	"sync"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// A hundred players are right at the same time on two nodes. One is first and
// seals the question. The test repeats this.
func TestOneIsTheFirst(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		players := playerIDs(100)
		p.seat(players...)
		open := p.start()
		for range 3 {
			before := p.read().Version
			attempts := make([]match.Attempt, len(players))
			for i, player := range players {
				attempts[i] = p.first(open, player, int64(i))
			}
			first := p.onlyFirst(attempts, p.raceAll(attempts))
			v := p.read()
			if v.Phase != match.Sealed || v.Answered != 1 || v.Right != 1 || v.Version != before+1 || v.First.Player != first {
				p.Errorf("%s was the first: %+v, %+v", first, v.State, v.First)
			}
			open = p.next()
		}
		v := p.read()
		if v.Teams["red"].Score != 3 || len(v.Firsts) != 3 {
			p.Errorf("%v, %v", v.Teams, v.Firsts)
		}
		p.checkLog()
	})
}

// raceAll races on two nodes.
func (p *testMatch) raceAll(attempts []match.Attempt) []match.Outcome {
	p.Helper()
	stores := []*Store{p.Store, New(p.client, p.client)}
	outs := make([]match.Outcome, len(attempts))
	var all sync.WaitGroup
	for i := range attempts {
		all.Go(func() {
			var err error
			if outs[i], err = stores[i%2].Race(p.Context(), attempts[i]); err != nil {
				p.Error(err)
			}
		})
	}
	all.Wait()
	return outs
}

// onlyFirst expects one attempt to be first and all others to be late, and
// returns the first.
func (p *testMatch) onlyFirst(attempts []match.Attempt, outs []match.Outcome) (first string) {
	p.Helper()
	for i, out := range outs {
		switch {
		case out.Verdict == match.Accepted && first == "" && out.Record.First && out.Sealed:
			first = attempts[i].Record.Player
		case out.Verdict != match.Late:
			p.Errorf("%s: %+v, and %q was the first", attempts[i].Record.Player, out, first)
		}
	}
	if first == "" {
		p.Error("nobody was the first")
	}
	return first
}

// Fifty devices of one player race. One wins, and the others get its record.
func TestOneRaceOfAPlayerWins(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada")
		open := p.start()
		attempts := make([]match.Attempt, 50)
		for i := range attempts {
			attempts[i] = p.first(open, "p_ada", int64(i))
		}
		outs := p.raceAll(attempts)
		won := slices.IndexFunc(outs, func(o match.Outcome) bool { return o.Verdict == match.Accepted })
		for i, out := range outs {
			if i != won && (out.Verdict != match.Duplicate || !reflect.DeepEqual(out.Record, outs[won].Record)) {
				p.Errorf("%d: %+v", i, out)
			}
		}
		if v := p.read(); v.Answered != 1 || v.Totals["p_ada"].Answered != 1 || v.Teams["red"].Score != 1 {
			p.Errorf("%+v", v)
		}
	})
}

// Wrong answers arrive while a right one takes the question. They do not delay
// it, and all accepted ones are counted.
func TestWrongAnswersDoNotHoldUpARace(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		players := playerIDs(60)
		p.seat(players...)
		open := p.start()
		outs := make([]match.Outcome, len(players))
		attempts := make([]match.Attempt, len(players))
		for i, player := range players {
			attempts[i] = p.first(open, player, int64(i))
		}
		var all sync.WaitGroup
		for i := range players {
			all.Go(func() {
				var err error
				if i == 30 {
					outs[i], err = p.Race(p.Context(), attempts[i])
				} else {
					outs[i], err = p.Commit(p.Context(), wrong(attempts[i]))
				}
				if err != nil {
					p.Error(err)
				}
			})
		}
		all.Wait()
		accepted := int64(0)
		for i, out := range outs {
			if out.Verdict == match.Accepted {
				accepted++
			} else if i == 30 || out.Verdict != match.Late {
				p.Errorf("%d: %+v", i, out)
			}
		}
		v := p.read()
		if v.Answered != accepted || v.Right != 1 || v.First.Player != players[30] {
			p.Errorf("%d accepted, %+v", accepted, v.State)
		}
		p.checkLog()
	})
}

// A race competes with the step that seals. Exactly one of them closes the
// question.
func TestARaceAgainstTheSeal(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		open := p.start()
		won := 0
		for range 40 {
			seal := p.step(open, match.Sealed, open.Question)
			seal.To.CloseReason, seal.Pushes = "timeout", nil
			a := p.first(open, "p_ada", 10)
			var out match.Outcome
			var done match.StepResult
			var raced, stepped error
			var both sync.WaitGroup
			both.Go(func() { out, raced = p.Race(p.Context(), a) })
			both.Go(func() { done, stepped = p.Step(p.Context(), seal) })
			both.Wait()
			if raced != nil || stepped != nil {
				p.Fatal(raced, stepped)
			}
			v := p.read()
			first := out.Verdict == match.Accepted
			if first == done.Applied || !first && out.Verdict != match.Late || first != (v.CloseReason == "first_correct") || first != (v.First != nil) {
				p.Fatalf("%+v, %+v, %+v", out, done, v.State)
			}
			if first {
				won++
			}
			open = p.next()
		}
		if v := p.read(); v.Totals["p_ada"].Correct != int64(won) || v.Teams["red"].Score != int64(won) {
			p.Errorf("%d won, %+v", won, v.Totals)
		}
		p.Logf("%d of 40 were won", won)
		p.checkLog()
	})
}

// A player leaves while the player's own answer races.
func TestARaceAgainstLeaving(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		open := p.start()
		a := p.first(open, "p_ada", 10)
		var both sync.WaitGroup
		var out match.Outcome
		both.Go(func() { out, _ = p.Race(p.Context(), a) })
		both.Go(func() { _, _ = p.RemovePlace(p.Context(), p.plan.ID, "p_ada", 0) })
		both.Wait()
		v := p.read()
		if first := out.Verdict == match.Accepted; first != (v.First != nil) || !first && out.Verdict != match.Gone || v.LeftSeats != 1 {
			p.Errorf("%+v, %+v", out, v.State)
		}
		p.removePlace("p_ada", arena.Left)
	})
}
