package redismatch

import (
	"reflect"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
)

// Two questions: the players who are in or out, and the effect of answers.
func TestSurvival(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd", "p_dan")
		open := p.start()
		out := p.commit(inTeam(red, p.attempt(open, "p_ada", 1000)), match.Accepted)
		if out.Answered != 1 || out.Alive != 4 || out.Seq != 0 || out.Version != p.read().Version || len(out.Nodes) != 0 {
			p.Errorf("%+v", out)
		}
		slow := inTeam(blue, p.attempt(open, "p_bob", 3000))
		slow.Record.Points = 170
		p.commit(slow, match.Accepted)
		p.commit(wrong(p.attempt(open, "p_cyd", 500)), match.Accepted)
		if p.due() != open.DueAt {
			p.Errorf("due at %d with three of four", p.due())
		}
		v := p.read()
		if want := (match.Totals{Score: 190, Correct: 1, Answered: 1, SavedMS: 9000, LastCorrect: 1, LastAnswered: 1}); v.Totals["p_ada"] != want {
			p.Errorf("%+v", v.Totals["p_ada"])
		}
		if want := (match.Totals{Answered: 1, LastAnswered: 1}); v.Totals["p_cyd"] != want {
			p.Errorf("%+v", v.Totals["p_cyd"])
		}
		if v.Ranks["p_ada"] != 1 || v.Ranks["p_bob"] != 2 || v.Teams["red"].Score != 190 || v.Teams["blue"].Score != 170 {
			p.Errorf("ranks %v, teams %v", v.Ranks, v.Teams)
		}
		next := p.next()
		p.commit(p.attempt(next, "p_cyd", 0), match.Eliminated) // was wrong
		p.commit(p.attempt(next, "p_dan", 0), match.Eliminated) // was silent
		p.commit(p.attempt(open, "p_cyd", 0), match.Eliminated) // until then the answer is a duplicate
		p.commit(p.attempt(match.State{Question: 2}, "p_cyd", 0), match.Early)
		p.commit(p.attempt(open, "p_bob", 0), match.Duplicate)
		p.commit(p.attempt(next, "p_eve", 0), match.Gone)
		p.commit(p.attempt(next, "p_bob", 10_001), match.Late)
		p.commit(p.attempt(next, "p_bob", 100), match.Accepted)
		p.commit(p.attempt(next, "p_bob", 200), match.Duplicate)
		if p.due() != next.DueAt {
			p.Errorf("due at %d with one of two", p.due())
		}
		last := p.attempt(next, "p_ada", 500)
		p.commit(last, match.Accepted)
		if p.due() != last.Record.At {
			p.Errorf("due at %d with all who are in", p.due())
		}
		p.checkLog()
	})
}

// A question without a survivor eliminates no player.
func TestAVoidQuestion(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		open := p.start()
		p.commit(wrong(p.attempt(open, "p_ada", 10)), match.Accepted)
		next := p.next()
		if next.LastDecided != -1 || next.Alive != 2 {
			p.Errorf("%+v", next)
		}
		p.commit(p.attempt(next, "p_ada", 10), match.Accepted)
		p.commit(p.attempt(next, "p_bob", 10), match.Accepted)
		if v := p.read(); v.Totals["p_ada"].LastCorrect != 2 || v.Ranks["p_ada"] != 1 || v.Ranks["p_bob"] != 1 {
			p.Errorf("%+v, %v", v.Totals, v.Ranks)
		}
	})
}

// A repeated attempt returns the same outcome and changes nothing, also after
// its player is out or has left.
func TestRepeatedSurvivalAttempt(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd")
		open := p.start()
		right, fault := inTeam(red, p.attempt(open, "p_ada", 10)), wrong(p.attempt(open, "p_bob", 10))
		p.commit(right, match.Accepted)
		p.commit(fault, match.Accepted)
		for _, then := range []func(){func() {}, func() { p.next() }, func() { p.removePlace("p_ada", arena.Left) }} {
			then()
			before := p.read()
			for _, a := range []match.Attempt{right, fault} {
				if out := p.commit(a, match.Accepted); !reflect.DeepEqual(out.Record, a.Record) {
					p.Errorf("%+v", out)
				}
			}
			if after := p.read(); !reflect.DeepEqual(after, before) {
				p.Errorf("%+v became %+v", before, after)
			}
		}
		p.checkLog()
	})
}

// The effect of leaving on the number of expected answers, by phase and by what
// the player has done.
func TestLeavingASurvivalMatch(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd", "p_dan", "p_eve", "p_fay")
		expect := func(when string, alive, left, right int64) {
			p.Helper()
			if v := p.read(); v.Alive != alive || v.LeftSeats != left || v.EndedPlaces != left || v.Right != right || v.Answered != right {
				p.Errorf("%s: %d alive, %d left, %d right: %+v", when, v.Alive, v.LeftSeats, v.Right, v.State)
			}
		}
		p.applyStep(match.Starting, -1)
		p.removePlace("p_fay", arena.Left)
		p.applyStep(match.Countdown, -1)
		expect("starting", 5, 1, 0)
		p.removePlace("p_eve", arena.Left)
		expect("countdown", 4, 2, 0)
		open := p.applyStep(match.Open, 0)
		p.commit(p.attempt(open, "p_ada", 10), match.Accepted)
		p.commit(p.attempt(open, "p_bob", 10), match.Accepted)
		p.commit(p.attempt(open, "p_cyd", 10), match.Accepted)
		p.commit(p.attempt(open, "p_eve", 10), match.Gone)
		for range 2 { // it may be repeated
			p.removePlace("p_cyd", arena.Left)
		}
		expect("open, was right", 3, 3, 2)
		if p.due() != open.DueAt {
			p.Errorf("due at %d", p.due())
		}
		p.removePlace("p_dan", arena.Left)
		expect("open, has not answered", 2, 4, 2)
		if p.due() > open.OpensAt {
			p.Errorf("due at %d, though all have answered", p.due())
		}
		p.applyStep(match.Sealed, 0)
		p.removePlace("p_bob", arena.Left)
		expect("sealed, was right", 1, 5, 1)
		p.applyStep(match.Revealed, 0)
		expect("revealed", 1, 5, 1)
		next := p.applyStep(match.Open, 1)
		expect("the next", 1, 5, 0)
		p.commit(p.attempt(next, "p_bob", 10), match.Gone)
		p.removePlace("p_ada", arena.Left)
		expect("the last", 0, 6, 0)
		p.checkLog()
	})
}

// The unrevealed answer of a player who leaves is retracted, and the question
// is for those who stay. If the only one left was wrong, there is no survivor.
func TestLeavingRetractsAnAnswer(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd")
		open := p.start()
		for _, player := range []string{"p_ada", "p_bob"} {
			p.commit(inTeam(red, p.attempt(open, player, 1000)), match.Accepted)
		}
		p.commit(inTeam(blue, p.attempt(open, "p_cyd", 1000)), match.Accepted)
		open = p.next()
		before := p.read()
		p.commit(inTeam(red, p.attempt(open, "p_ada", 0)), match.Accepted)
		p.commit(wrong(p.attempt(open, "p_bob", 0)), match.Accepted)
		p.commit(wrong(p.attempt(open, "p_cyd", 0)), match.Accepted)
		p.removePlace("p_ada", arena.Left)
		p.removePlace("p_bob", arena.Left)
		v := p.read()
		if v.Answered != 1 || v.Right != 0 || v.Alive != 1 || v.Teams["red"].Score != before.Teams["red"].Score {
			p.Errorf("%+v, %v", v.State, v.Teams)
		}
		for _, player := range []string{"p_ada", "p_bob"} {
			want := before.Totals[player]
			want.Left = true
			if v.Totals[player] != want {
				p.Errorf("%s: %+v, want %+v", player, v.Totals[player], want)
			}
		}
		if v.Seats[0].Player != "p_cyd" || v.Ranks["p_ada"] != 2 || v.Ranks["p_bob"] != 2 {
			p.Errorf("%+v, %v", v.Seats, v.Ranks)
		}
		if next := p.next(); next.LastDecided != 0 || next.Alive != 1 {
			p.Errorf("%+v", next)
		}
		p.checkLog()
	})
}

// An eliminated player changes nothing by leaving.
func TestLeavingOnceOut(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd")
		open := p.start()
		p.commit(p.attempt(open, "p_ada", 10), match.Accepted)
		p.commit(p.attempt(open, "p_bob", 10), match.Accepted)
		p.next()
		p.removePlace("p_cyd", arena.Left)
		if v := p.read(); v.Alive != 2 || v.LeftSeats != 1 {
			p.Errorf("%+v", v.State)
		}
	})
}

// A step that seals a question keeps that a player has left in between.
func TestSealingKeepsPlayersWhoLeft(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		seal := p.step(p.start(), match.Sealed, 0)
		p.removePlace("p_bob", arena.Left)
		if done, err := p.Step(p.Context(), seal); err != nil || !done.Applied {
			p.Fatal(done, err)
		}
		if v := p.read(); v.Alive != 1 {
			p.Errorf("%+v", v.State)
		}
	})
}
