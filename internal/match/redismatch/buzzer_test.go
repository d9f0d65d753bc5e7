package redismatch

import (
	"reflect"
	"testing"
	"time"

	"laststand/internal/arena"
	"laststand/internal/match"
)

func TestRace(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd")
		if _, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Node: "n_1", After: -1}); err != nil {
			p.Fatal(err)
		}
		open := p.start()
		p.commit(wrong(p.attempt(open, "p_cyd", 100)), match.Accepted)
		a := p.first(open, "p_ada", 1000)
		out := p.race(a, match.Accepted)
		a.Record.First = true
		v := p.read()
		want := match.Outcome{
			Verdict: match.Accepted, Record: a.Record, Answered: 2, Alive: 3, Sealed: true, Version: v.Version, Nodes: []string{"n_1"},
		}
		if !reflect.DeepEqual(out, want) {
			p.Errorf("%+v, want %+v", out, want)
		}
		first := match.First{Player: "p_ada", Nickname: "p_ada", Team: "red", At: a.Record.At, ElapsedMS: 1000, Node: "n_1"}
		if v.Phase != match.Sealed || v.CloseReason != "first_correct" || v.Right != 1 || v.DueAt != a.Record.At || *v.First != first {
			p.Errorf("%+v, first %+v", v.State, v.First)
		}
		if p.due() != a.Record.At || v.Teams["red"].Score != 1 || v.Teams["blue"].Score != 0 || v.Ranks["p_ada"] != 1 || v.Ranks["p_bob"] != 2 {
			p.Errorf("due at %d, teams %v, ranks %v", p.due(), v.Teams, v.Ranks)
		}
		if totals := (match.Totals{Score: 100, Correct: 1, Answered: 1, SavedMS: 9000, LastCorrect: 1, LastAnswered: 1}); v.Totals["p_ada"] != totals {
			p.Errorf("%+v", v.Totals["p_ada"])
		}
		p.race(p.first(open, "p_bob", 900), match.Late)
		p.next()
		if v := p.read(); v.First != nil || !reflect.DeepEqual(v.Firsts, []match.First{first}) {
			p.Errorf("first %+v of %+v", v.First, v.Firsts)
		}
		p.checkSeats(3)
		p.checkLog()
	})
}

// first returns an attempt of the red team to be first.
func (p *testMatch) first(s match.State, player string, after int64) match.Attempt {
	a := inTeam(red, p.attempt(s, player, after))
	a.Record.Points, a.Record.Node = 100, "n_1"
	return a
}

// The verdict of a race in each state of the match.
func TestRaceVerdicts(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd")
		p.race(p.first(match.State{OpensAt: epoch}, "p_ada", 0), match.Early)
		open := p.start()
		p.race(p.first(match.State{Question: 1, OpensAt: epoch}, "p_ada", 0), match.Early)
		p.race(p.first(open, "p_ada", 10_001), match.Late)
		p.race(p.first(open, "p_eve", 0), match.Gone)
		stale := p.first(open, "p_ada", 0)
		stale.OpensAt--
		p.race(stale, match.Stale)
		missing := p.first(open, "p_ada", 0)
		missing.Match = "m_none"
		p.race(missing, match.Gone)
		fault := wrong(p.attempt(open, "p_bob", 0))
		p.commit(fault, match.Accepted)
		if out := p.race(p.first(open, "p_bob", 0), match.Duplicate); !reflect.DeepEqual(out.Record, fault.Record) || out.Sealed {
			p.Errorf("%+v", out)
		}
		p.removePlace("p_cyd", arena.Left)
		p.race(p.first(open, "p_cyd", 0), match.Gone)
		if v := p.read(); v.Answered != 1 || v.First != nil || v.Totals["p_ada"] != (match.Totals{}) {
			p.Errorf("a refused one left %+v", v)
		}
		p.applyStep(match.Sealed, 0)
		p.race(p.first(open, "p_ada", 0), match.Late)
		p.next()
		p.race(p.first(open, "p_ada", 0), match.Late)
		p.race(p.first(open, "p_bob", 0), match.Duplicate)
		p.checkLog()
	})
}

// A closed question stays closed, also after an extension.
func TestTheFirstIsOfferedOnce(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada")
		offered := func() string { return p.client.Get(p.Context(), p.keys.first(0)).Val() }
		open := p.start()
		if p.applyStep(match.Open, 0); offered() != "1" { // extended
			p.Errorf("extended: %q", offered())
		}
		p.race(p.first(open, "p_ada", 10), match.Accepted)
		if offered() != "0" {
			p.Errorf("taken: %q", offered())
		}
		next := p.next()
		p.client.Del(p.Context(), p.keys.first(1)) // as if the store had lost it
		p.race(p.first(next, "p_ada", 10), match.Late)
		p.applyStep(match.Over, 1)
		if got := p.client.Get(p.Context(), p.keys.first(1)).Val(); got != "0" {
			p.Errorf("over: %q", got)
		}
	})
}

// A wrong answer locks its player out, and the team for a while.
func TestWrongAnswers(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd", "p_dan")
		open := p.start()
		fault := inTeam(red, wrong(p.attempt(open, "p_ada", 10)))
		fault.LockoutMS = 60_000
		for range 2 { // it may be repeated
			if out := p.commit(fault, match.Accepted); out.Answered != 1 || out.Alive != 4 || out.Seq != 0 {
				p.Errorf("%+v", out)
			}
		}
		p.commit(inTeam(red, wrong(p.attempt(open, "p_ada", 20))), match.Duplicate)
		mate := inTeam(red, wrong(p.attempt(open, "p_cyd", 20)))
		mate.LockoutMS = 60_000
		shut := p.commit(mate, match.LockedOut)
		raced := p.first(open, "p_cyd", 30)
		raced.LockoutMS = 60_000
		for _, out := range []match.Outcome{shut, p.race(raced, match.LockedOut)} {
			if out.RetryMS < 1000 || out.RetryMS > 60_000 {
				p.Errorf("%+v", out)
			}
		}
		other := inTeam(blue, wrong(p.attempt(open, "p_bob", 40)))
		p.commit(other, match.Accepted)
		alone := wrong(p.attempt(open, "p_dan", 50))
		alone.LockoutMS = 60_000
		p.commit(alone, match.Accepted) // no team: nobody is locked out
		if v := p.read(); v.Answered != 3 || v.Right != 0 || v.Phase != match.Open || p.due() != open.DueAt {
			p.Errorf("%+v, due at %d", v.State, p.due())
		}
		p.client.Del(p.Context(), p.keys.lockout(0, "red")) // simulate the expiry
		p.race(raced, match.Accepted)
	})
}

// In the last millisecond of a lockout the team may answer. Otherwise the reply
// would contain a retry time of 0.
func TestTheLastInstantOfATimeOut(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.plan.Arena.MaxPlayers = 100
		players := playerIDs(p.plan.Arena.MaxPlayers)
		p.seat(players...)
		open := p.start()
		for _, player := range players {
			if err := p.client.Set(p.Context(), p.keys.lockout(0, "red"), "another", time.Millisecond).Err(); err != nil {
				p.Fatal(err)
			}
			mate := inTeam(red, wrong(p.attempt(open, player, 20)))
			mate.LockoutMS = 60_000
			if out, err := p.Commit(p.Context(), mate); err != nil || out.Verdict == match.LockedOut && out.RetryMS <= 0 {
				p.Fatalf("%+v, %v", out, err)
			}
		}
	})
}

// A lockout ends with its question.
func TestALockoutIsOfItsQuestion(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		fault := inTeam(red, wrong(p.attempt(p.start(), "p_ada", 10)))
		fault.LockoutMS = 60_000
		p.commit(fault, match.Accepted)
		a := p.first(p.next(), "p_bob", 10)
		a.LockoutMS = 60_000
		p.race(a, match.Accepted)
	})
}

func TestAllWrongIsDueAtOnce(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob", "p_cyd")
		open := p.start()
		p.commit(wrong(p.attempt(open, "p_ada", 10)), match.Accepted)
		p.removePlace("p_ada", arena.Left) // the question does not wait for players who have answered
		if v := p.read(); v.Alive != 3 || p.due() != open.DueAt {
			p.Errorf("%+v, due at %d", v.State, p.due())
		}
		p.removePlace("p_cyd", arena.Left)
		last := wrong(p.attempt(open, "p_bob", 20))
		p.commit(last, match.Accepted)
		if v := p.read(); v.Alive != 2 || v.Answered != 2 || p.due() != last.Record.At {
			p.Errorf("%+v, due at %d", v.State, p.due())
		}
	})
}
