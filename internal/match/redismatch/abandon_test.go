package redismatch

import (
	"errors"
	"testing"

	"laststand/internal/match"
)

// A match with a lower version than a node has seen refuses all writes of that
// node, except the step that abandons it.
func TestAStoreThatLostData(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		open := p.start()
		a := p.first(open, "p_ada", 10)
		a.SeenVersion = 1000
		seal := p.step(open, match.Sealed, 0)
		seal.SeenVersion = 1000
		for name, act := range map[string]func() error{
			"read": func() error {
				_, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, SeenVersion: 1000, Node: "n_1"})
				return err
			},
			"commit": func() error { _, err := p.Commit(p.Context(), wrong(a)); return err },
			"race":   func() error { _, err := p.Race(p.Context(), a); return err },
			"step":   func() error { _, err := p.Step(p.Context(), seal); return err },
		} {
			if err := act(); !errors.Is(err, match.ErrAbandoned) {
				p.Errorf("%s: %v", name, err)
			}
		}
		if v := p.read(); v.Phase != match.Open || v.Answered != 0 || len(v.Nodes) != 0 {
			p.Errorf("%+v", v.State)
		}
		seal.To.Phase, seal.To.EndReason, seal.To.DueAt, seal.Pushes, seal.KeepMS = match.Over, match.Abandoned, 0, nil, 360_000
		done, err := p.Step(p.Context(), seal)
		if err != nil || !done.Applied || done.Version != 1001 {
			p.Fatalf("%+v, %v", done, err)
		}
		v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, SeenVersion: done.Version})
		if err != nil || v.Phase != match.Over || v.EndReason != match.Abandoned || v.Version != done.Version || p.due() != -1 {
			p.Errorf("%+v, %v, due at %d", v.State, err, p.due())
		}
		if offered := p.client.Get(p.Context(), p.keys.first(0)).Val(); offered != "0" {
			p.Errorf("a first is to be had: %q", offered)
		}
		if marks, err := p.ReadProgress(p.Context(), []string{p.plan.ID}); err != nil || len(marks) != 0 {
			p.Errorf("%v, %v", marks, err) // nothing would remove it after the settlement
		}
	})
}

// Every visible write raises the version by one.
func TestVersions(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		version := int64(0)
		moved := func(operation string, by int64) {
			p.Helper()
			version += by
			if v := p.read(); v.Version != version {
				p.Fatalf("%s: version %d, want %d", operation, v.Version, version)
			}
			p.checkMark()
		}
		moved("create", 1)
		p.seat("p_ada", "p_bob", "p_cyd")
		moved("sit", 3)
		p.removePlace("p_cyd", "out")
		moved("unsit", 1)
		p.addWatcher("p_cyd", match.AsSpectator, "in")
		moved("watch", 0)
		_ = p.LockLobby(p.Context(), p.plan.ID)
		moved("lock", 1)
		open := p.start()
		moved("step", 3)
		p.commit(wrong(p.attempt(open, "p_bob", 10)), match.Accepted)
		moved("commit", 1)
		p.race(p.first(open, "p_ada", 10), match.Accepted)
		moved("race", 1)
		p.removePlace("p_ada", "left")
		moved("leave", 1)
	})
}

func (p *testMatch) checkMark() {
	p.Helper()
	v := p.read()
	marks, err := p.ReadProgress(p.Context(), []string{p.plan.ID})
	if err != nil || marks[p.plan.ID] != (match.Progress{Seq: v.Seq, Version: v.Version}) {
		p.Errorf("%v, %v, the match is at %d, version %d", marks, err, v.Seq, v.Version)
	}
}

// A step with a version is applied at exactly that version.
func TestStepComparesTheVersion(t *testing.T) {
	eachArena(t, match.Survival, func(p *testMatch) {
		p.seat("p_ada", "p_bob")
		p.applyStep(match.Starting, -1)
		s := p.step(p.read().State, match.Countdown, -1)
		s.Version = p.read().Version
		p.removePlace("p_bob", "left")
		if done, err := p.Step(p.Context(), s); err != nil || done.Applied {
			p.Errorf("%+v, %v", done, err)
		}
		s.Version = p.read().Version
		if done, err := p.Step(p.Context(), s); err != nil || !done.Applied || done.Version != s.Version+1 {
			p.Errorf("%+v, %v", done, err)
		}
	})
}

// The id of a former or tombstoned match is not used again.
func TestTombstones(t *testing.T) {
	each(t, func(p *testMatch) {
		create := func(id string, want bool) {
			p.Helper()
			plan := newPlan()
			plan.ID = id
			if made, err := p.Create(p.Context(), plan, duelState(), found(plan)); err != nil || made != want {
				p.Errorf("created: %v, %v", made, err)
			}
		}
		tombstone := func(id string, want bool) {
			p.Helper()
			for range 2 {
				if exists, err := p.Tombstone(p.Context(), id); err != nil || exists != want {
					p.Errorf("exists: %v, %v", exists, err)
				}
			}
		}
		tombstone(p.plan.ID, true)
		p.applyStep(match.Over, -1)
		tombstone(p.plan.ID, true)
		p.expire()
		create(p.plan.ID, false)
		tombstone(p.plan.ID, true)
		p.client.Del(p.Context(), p.keys.tomb())
		p.checkPending(true)
		if err := p.Settled(p.Context(), []match.Result{{Match: p.plan.ID}}); err != nil {
			p.Fatal(err)
		}
		create(p.plan.ID, false)

		other := newPlan().ID
		tombstone(other, false)
		create(other, false)
		for _, id := range []string{p.plan.ID, other} {
			if ttl := p.client.PTTL(p.Context(), newKeys(id).tomb()).Val(); ttl <= 0 || ttl.Hours() > 1 {
				p.Errorf("the tomb stands for %v", ttl)
			}
		}
	})
}
