package redismatch

import (
	"errors"
	"testing"

	"laststand/internal/match"
)

// A match with a lower version than a node has seen refuses all writes of that
// node, except the step that abandons it.
func TestWritesAgainstLowerVersionAreRefused(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob")
		attempt := m.firstAttempt(open, "p_ada", 10)
		attempt.Seen.Version = 1000
		seal := m.step(open, match.PhaseSealed, 0)
		seal.Seen.Version = 1000
		for name, operation := range map[string]func() error{
			"read": func() error {
				_, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Seen: match.Seen{Version: 1000}, Node: "n_1"})
				return err
			},
			"commit":          func() error { _, err := m.Commit(m.Context(), wrongAnswer(attempt)); return err },
			"commit if first": func() error { _, err := m.CommitIfFirst(m.Context(), attempt); return err },
			"step":            func() error { _, err := m.Step(m.Context(), seal); return err },
		} {
			if err := operation(); !errors.Is(err, match.ErrAbandoned) {
				m.Errorf("%s: %v", name, err)
			}
		}
		if view := m.read(); view.Phase != match.PhaseOpen || view.Answered != 0 || len(view.Nodes) != 0 {
			m.Errorf("%+v", view.State)
		}
		seal.NewState.Phase, seal.NewState.EndReason, seal.NewState.DueAt, seal.Pushes, seal.TTLMS = match.PhaseOver, match.ReasonAbandoned, 0, nil, 360_000
		result, err := m.Step(m.Context(), seal)
		if err != nil || !result.Applied || result.Version != 1001 {
			m.Fatalf("%+v, %v", result, err)
		}
		view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Seen: match.Seen{Version: result.Version}})
		if err != nil || view.Phase != match.PhaseOver || view.EndReason != match.ReasonAbandoned || view.Version != result.Version || m.indexedDueAt() != -1 {
			m.Errorf("%+v, %v, due at %d", view.State, err, m.indexedDueAt())
		}
		if first := m.client.Get(m.Context(), m.keys.first(0)).Val(); first != "0" {
			m.Errorf("the question still has no first answer and is open: %q", first)
		}
		m.checkNoProgress()
	})
}

// A node whose newest write is lost is refused, even if other nodes have raised the version
// past it.
func TestWritesOfNodeWithLostWriteAreRefused(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd", "p_dan", "p_eve")
		by := func(attempt match.Attempt, node string, written int64) match.Attempt {
			attempt.Seen = match.Seen{Version: attempt.Seen.Version, Node: node, Written: written}
			return attempt
		}
		before := m.client.HGetAll(m.Context(), m.keys.match()).Val()
		lost := m.commit(by(wrongAnswer(m.attempt(open, "p_ada", 10)), "n_1", 0), match.VerdictAccepted)
		if !lost.IsNew {
			m.Errorf("%+v", lost)
		}
		m.client.Del(m.Context(), m.keys.match(), m.keys.answers())
		m.client.HSet(m.Context(), m.keys.match(), before)
		seal := m.step(open, match.PhaseSealed, 0)
		for _, player := range []string{"p_bob", "p_cyd"} {
			m.commit(by(wrongAnswer(m.attempt(open, player, 10)), "n_2", 0), match.VerdictAccepted)
		}
		for written, want := range map[int64]error{0: nil, lost.Version: match.ErrAbandoned} {
			seen := match.Seen{Version: lost.Version, Node: "n_1", Written: written}
			if _, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Seen: seen}); !errors.Is(err, want) {
				m.Errorf("read: %v, want %v", err, want)
			}
		}
		if _, err := m.Commit(m.Context(), by(wrongAnswer(m.attempt(open, "p_dan", 10)), "n_1", lost.Version)); !errors.Is(err, match.ErrAbandoned) {
			m.Errorf("commit: %v", err)
		}
		if _, err := m.CommitIfFirst(m.Context(), by(m.firstAttempt(open, "p_eve", 10), "n_1", lost.Version)); !errors.Is(err, match.ErrAbandoned) {
			m.Errorf("commit if first: %v", err)
		}
		seal.Seen = match.Seen{Version: lost.Version, Node: "n_1", Written: lost.Version}
		if _, err := m.Step(m.Context(), seal); !errors.Is(err, match.ErrAbandoned) {
			m.Errorf("step: %v", err)
		}
		seal.Seen.Written = 0
		if result, err := m.Step(m.Context(), seal); err != nil || !result.Applied {
			m.Errorf("step of a node without lost writes: %+v, %v", result, err)
		}
	})
}

// A first right answer is a write of its node, too.
func TestFirstRightAnswerIsWriteOfItsNode(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob")
		before := m.client.HGetAll(m.Context(), m.keys.match()).Val()
		attempt := m.firstAttempt(open, "p_ada", 10)
		attempt.Seen.Node = "n_1"
		first, err := m.CommitIfFirst(m.Context(), attempt)
		if err != nil || !first.IsNew || first.Version != open.Version+1 {
			m.Fatalf("%+v, %v", first, err)
		}
		query := match.ReadQuery{Match: m.plan.ID, Seen: match.Seen{Version: first.Version, Node: "n_1", Written: first.Version}}
		if _, err := m.Read(m.Context(), query); err != nil {
			m.Errorf("read: %v", err)
		}
		m.client.Del(m.Context(), m.keys.match())
		m.client.HSet(m.Context(), m.keys.match(), before)
		m.client.HSet(m.Context(), m.keys.match(), "version", first.Version+1)
		if _, err := m.Read(m.Context(), query); !errors.Is(err, match.ErrAbandoned) {
			m.Errorf("read after a loss: %v", err)
		}
	})
}

// Every visible write raises the version by one.
func TestEveryWriteRaisesVersion(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		version := int64(0)
		checkRaised := func(operation string, increase int64) {
			m.Helper()
			version += increase
			if view := m.read(); view.Version != version {
				m.Fatalf("%s: version %d, want %d", operation, view.Version, version)
			}
			m.checkProgressIndex()
		}
		checkRaised("create", 1)
		m.addSeats("p_ada", "p_bob", "p_cyd")
		checkRaised("add seats", 3)
		m.removePlace("p_cyd", "out")
		checkRaised("remove a seat", 1)
		m.addWatcher("p_cyd", match.SpectatorRole, "in")
		checkRaised("add a watcher", 0)
		_ = m.LockLobby(m.Context(), m.plan.ID)
		checkRaised("lock the lobby", 1)
		open := m.startArena()
		checkRaised("three steps", 3)
		m.commit(wrongAnswer(m.attempt(open, "p_bob", 10)), match.VerdictAccepted)
		checkRaised("commit", 1)
		m.commitIfFirst(m.firstAttempt(open, "p_ada", 10), match.VerdictAccepted)
		checkRaised("commit if first", 1)
		m.removePlace("p_ada", "left")
		checkRaised("leave", 1)
	})
}

func (m *testMatch) checkProgressIndex() {
	m.Helper()
	view := m.read()
	progress, err := m.ReadProgress(m.Context(), []string{m.plan.ID})
	if err != nil || progress[m.plan.ID] != (match.Progress{Seq: view.Seq, Version: view.Version}) {
		m.Errorf("%v, %v, the match is at %d, version %d", progress, err, view.Seq, view.Version)
	}
}

// A step with a version is applied at exactly that version.
func TestStepComparesTheVersion(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		m.addSeats("p_ada", "p_bob")
		m.applyStep(match.PhaseStarting, -1)
		step := m.step(m.read().State, match.PhaseCountdown, -1)
		step.Version = m.read().Version
		m.removePlace("p_bob", "left")
		m.checkNotApplied(step)
		step.Version = m.read().Version
		if result, err := m.Step(m.Context(), step); err != nil || !result.Applied || result.Version != step.Version+1 {
			m.Errorf("%+v, %v", result, err)
		}
	})
}

// The id of a former or tombstoned match is not used again.
func TestTombstonedIDIsNotReused(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		create := func(id string, want bool) {
			m.Helper()
			plan := newPlan()
			plan.ID = id
			if created, err := m.Create(m.Context(), newDuel(plan)); err != nil || created != want {
				m.Errorf("created: %v, %v", created, err)
			}
		}
		tombstone := func(id string, want bool) {
			m.Helper()
			for range 2 {
				if exists, err := m.Tombstone(m.Context(), id); err != nil || exists != want {
					m.Errorf("exists: %v, %v", exists, err)
				}
			}
		}
		tombstone(m.plan.ID, true)
		m.applyStep(match.PhaseOver, -1)
		tombstone(m.plan.ID, true)
		m.deleteMatchKeys()
		create(m.plan.ID, false)
		tombstone(m.plan.ID, true)
		m.client.Del(m.Context(), m.keys.tombstone())
		m.checkPending(true)
		m.markSettled()
		create(m.plan.ID, false)

		other := newPlan().ID
		tombstone(other, false)
		create(other, false)
		for _, id := range []string{m.plan.ID, other} {
			if ttl := m.client.PTTL(m.Context(), newKeys(id).tombstone()).Val(); ttl <= 0 || ttl.Hours() > 1 {
				m.Errorf("the tombstone lives for %v", ttl)
			}
		}
	})
}
