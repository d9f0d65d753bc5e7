package redismatch

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

func TestStepWritesOnlyItsFields(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		step := m.step(m.read().State, match.PhaseOpen, 0)
		step.Pushes = append(step.Pushes, step.Pushes[0])
		step.NewState.CloseReason, step.NewState.EndReason, step.NewState.Leaver = "why", match.ReasonForfeit, "p_ada"
		step.NewState.HostPaced, step.NewState.Extended, step.NewState.Voids, step.NewState.LastDecided, step.NewState.StartsAt = true, true, []int{0, 12}, 1, 77
		step.NewState.Answered, step.NewState.Right, step.NewState.EndedPlaces, step.NewState.Seq, step.NewState.Version = 9, 9, 9, 9, 9 // fields of the store
		step.NewState.Players, step.NewState.LeftSeats, step.NewState.Locked, step.NewState.First = 9, 9, true, new(match.First)
		result, err := m.Step(m.Context(), step)
		if err != nil || !reflect.DeepEqual(result, match.StepResult{Applied: true, FirstSeq: 2, Version: 2}) {
			m.Fatalf("%+v, %v", result, err)
		}
		want := step.NewState
		want.Answered, want.Right, want.EndedPlaces, want.Seq, want.Version = 0, 0, 0, 3, 2
		want.Players, want.LeftSeats, want.Locked, want.First = 2, 0, false, nil
		if view := m.read(); !reflect.DeepEqual(view.State, want) || string(view.Frames[2]) != string(step.Pushes[1].Frame(3)) {
			m.Errorf("%+v, want %+v; %s", view.State, want, view.Frames[2])
		}
		if m.indexedDueAt() != step.NewState.DueAt {
			m.Errorf("due at %d", m.indexedDueAt())
		}
		m.checkLog()
	})
}

// A step is applied only at its phase and question.
func TestStepComparesPhaseAndQuestion(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		m.applyStep(match.PhaseOpen, 0)
		before := m.read()
		for _, from := range []match.State{
			{Phase: match.PhaseCountdown, Question: -1}, {Phase: match.PhaseOpen, Question: 1}, {Phase: match.PhaseOpen, Question: -1}, {Phase: match.PhaseSealed},
		} {
			done, err := m.Step(m.Context(), m.step(from, match.PhaseOver, 0))
			if err != nil || done.Applied {
				m.Errorf("from %s of %d: %+v, %v", from.Phase, from.Question, done, err)
			}
		}
		if after := m.read(); !reflect.DeepEqual(after, before) {
			m.Errorf("%+v became %+v", before, after)
		}
		if isPending, err := m.IsPending(m.Context(), m.plan.ID); isPending || err != nil {
			m.Errorf("a step that was not applied has a result: %v, %v", isPending, err)
		}
		unknownMatch := m.step(match.State{Phase: match.PhaseOpen}, match.PhaseSealed, 0)
		unknownMatch.Match = "m_none"
		if _, err := m.Step(m.Context(), unknownMatch); !errors.Is(err, match.ErrNotFound) {
			m.Errorf("no such match: %v", err)
		}
	})
}

// A match that is over leaves a result, which waits until it is settled, even
// after the match has expired.
func TestResultIsPendingUntilSettled(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		m.applyStep(match.PhaseOpen, 0)
		m.applyStep(match.PhaseOver, 0)
		if due := m.indexedDueAt(); due != -1 {
			m.Errorf("the ended match is due at %d", due)
		}
		m.deleteMatchKeys()
		if _, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID}); !errors.Is(err, match.ErrNotFound) {
			m.Errorf("the expired match is still stored: %v", err)
		}
		m.checkPending(true)
		result := m.pendingResult()
		if result == nil || result.OverAt != epoch+99 || len(result.Standings) != 1 {
			m.Fatalf("%+v", result)
		}
		for range 2 { // the client library may repeat it
			m.must(m.MarkSettled(m.Context(), []match.Result{*result}))
			m.checkPending(false)
			if again := m.pendingResult(); again != nil {
				m.Errorf("%+v", again)
			}
		}
		m.checkNoProgress()
	})
}

func TestMarkSettledSetsPhase(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		m.applyStep(match.PhaseOpen, 0)
		m.applyStep(match.PhaseOver, 0)
		m.must(m.MarkSettled(m.Context(), []match.Result{{Match: "m_none"}, {Match: m.plan.ID}}))
		if view := m.read(); view.Phase != match.PhaseSettled || view.Seq != 3 {
			m.Errorf("%+v", view.State)
		}
		if n := m.client.Exists(m.Context(), newKeys("m_none").match()).Val(); n != 0 {
			m.Error("an unknown match was created")
		}
	})
}

// pendingResult returns the match's pending result.
func (m *testMatch) pendingResult() *match.Result {
	m.Helper()
	for _, result := range m.pendingResults(100_000) {
		if result.Match == m.plan.ID {
			return &result
		}
	}
	return nil
}

// pendingResults reads pending results of all tests on the same Redis. On the cluster, which tests
// share, those of others may be unreadable.
func (m *testMatch) pendingResults(limit int) []match.Result {
	m.Helper()
	results, err := m.ReadResults(m.Context(), limit)
	if err != nil && !strings.HasSuffix(m.Name(), "/cluster") {
		m.Fatal(err)
	}
	return results
}

func (m *testMatch) checkPending(want bool) {
	m.Helper()
	isPending, err := m.IsPending(m.Context(), m.plan.ID)
	if err != nil || isPending != want {
		m.Errorf("pending: %v, %v", isPending, err)
	}
	n, err := m.CountUnsettled(m.Context())
	_, shared := m.client.(*redis.ClusterClient)
	if err != nil || want && n < 1 || !want && !shared && n != 0 {
		m.Errorf("unsettled: %d, %v", n, err)
	}
}

// deleteMatchKeys simulates the expiry of keys.
func (m *testMatch) deleteMatchKeys() {
	m.Helper()
	for _, key := range append(m.keys.resultKeys(m.plan.Mode), m.keys.playKeys(m.plan.Mode)...) {
		m.must(m.client.Del(m.Context(), key).Err())
	}
}

// runOnEachMaster runs a command on all servers that hold keys.
func (m *testMatch) runOnEachMaster(command func(ctx context.Context, client redis.Cmdable) error) {
	m.Helper()
	var err error
	if cluster, ok := m.client.(*redis.ClusterClient); ok {
		err = cluster.ForEachMaster(m.Context(), func(ctx context.Context, client *redis.Client) error { return command(ctx, client) })
	} else {
		err = command(m.Context(), m.client)
	}
	if err != nil {
		m.Fatal(err)
	}
}

// Scripts of large matches use their own connection; others share round trips.
func TestLargeMatchesUseTheirOwnConnection(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		m.addSeats(playerIDs(51)...)
		shared := &countingScripter{Scripter: m.client}
		store := New(m.client, shared)
		for _, isLarge := range []bool{true, false} {
			before := shared.runs.Load()
			step := m.step(m.read().State, match.PhaseStarting, -1)
			step.Large, step.Pushes = isLarge, nil
			if _, err := store.Step(m.Context(), step); err != nil {
				m.Fatal(err)
			}
			query := match.ReadQuery{Match: m.plan.ID, Players: playerIDs(51), AfterSeq: -1}
			if !isLarge {
				query.Players = query.Players[:50]
			}
			if _, err := store.Read(m.Context(), query); err != nil {
				m.Fatal(err)
			}
			if runs := shared.runs.Load() - before; isLarge && runs > 0 || !isLarge && runs < 2 {
				m.Errorf("large %v: %d shared round trips", isLarge, runs)
			}
		}
	})
}

// countingScripter counts the scripts that run on it.
type countingScripter struct {
	redis.Scripter
	runs atomic.Int64
}

func (c *countingScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	c.runs.Add(1)
	return c.Scripter.EvalSha(ctx, sha, keys, args...)
}

// One step may close a buzzer question and open the next. Then a right answer can be the
// first to the new question only.
func TestAStepClosesAndOpensAQuestion(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		first := m.startArena("p_ada", "p_bob")
		m.commit(wrongAnswer(m.attempt(first, "p_bob", 10)), match.VerdictAccepted)
		step := m.step(m.read().State, match.PhaseOpen, 1)
		step.NewState.OpensAt = first.OpensAt + 1
		m.apply(step)
		if view := m.read(); view.Question != 1 || view.Answered != 0 || view.First != nil {
			m.Errorf("%+v", view.State)
		}
		m.commitIfFirst(m.attempt(first, "p_ada", 20), match.VerdictLate)
		m.commitIfFirst(m.attempt(m.read().State, "p_ada", 30), match.VerdictAccepted)
	})
}
