package redismatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

// epoch is a time with many digits, so that a script that loses digits fails.
// It is far in the future, so that no sweep of another test on the same Redis
// finds its matches.
const epoch = 4_795_212_345_678

// testMatch is a test with a match of its own in Redis.
type testMatch struct {
	*testing.T
	*Store
	client     redis.UniversalClient
	plan       *match.Plan
	keys       keys
	createdIDs int
}

// runOnEachRedis runs a test on every kind of Redis, with a match in its countdown.
func runOnEachRedis(t *testing.T, f func(m *testMatch)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, client redis.UniversalClient) {
		f(newTestMatch(t, client, newPlan(), duelState()))
	})
}

// runNamedOnEachRedis runs a part of a test on every kind of Redis.
func runNamedOnEachRedis(t *testing.T, name string, f func(m *testMatch)) {
	t.Run(name, func(t *testing.T) { runOnEachRedis(t, f) })
}

// newTestMatch creates a match.
func newTestMatch(t *testing.T, client redis.UniversalClient, plan *match.Plan, first match.State) *testMatch {
	t.Helper()
	m := &testMatch{T: t, Store: New(client, newScripter(t, client)), client: client}
	return m.newMatch(plan, first)
}

// newMatch creates a match in the same store.
func (m *testMatch) newMatch(plan *match.Plan, first match.State) *testMatch {
	m.Helper()
	m = &testMatch{T: m.T, Store: m.Store, client: m.client, plan: plan, keys: newKeys(plan.ID)}
	created, err := m.Create(m.Context(), match.NewMatch{Plan: plan, State: first, Found: foundPush(plan)})
	if err != nil || !created {
		m.Fatalf("create: %v, %v", created, err)
	}
	m.Cleanup(func() { m.cleanUp(context.WithoutCancel(m.Context())) })
	return m
}

// newScripter returns what runs scripts in the product: shared pipelines, except
// for the embedded Redis.
func newScripter(t *testing.T, client redis.UniversalClient) redis.Scripter {
	t.Helper()
	if strings.HasSuffix(t.Name(), "/embedded") {
		return client
	}
	shared, err := client.AutoPipelineWithOptions(&redis.AutoPipelineOptions{MaxQueuedCommands: 1000})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := shared.Close(); err != nil {
			t.Error(err)
		}
	})
	return shared
}

// cleanUp removes the match from the indexes, which other tests on the cluster
// share.
func (m *testMatch) cleanUp(ctx context.Context) {
	if err := m.RemoveIndexEntries(ctx, m.plan.ID); err != nil {
		m.Error(err)
	}
	if err := m.MarkSettled(ctx, []match.Result{{Match: m.plan.ID}}); err != nil {
		m.Error(err)
	}
}

// duelState is the first state of a duel.
func duelState() match.State {
	return match.State{Phase: match.PhaseCountdown, Question: -1, LastDecided: -1, StartsAt: epoch, DueAt: epoch, Players: 2, Alive: 2}
}

func newPlan() *match.Plan {
	plan := &match.Plan{
		Form: match.CurrentForm, ID: "m_" + ulid.Make().String(), Game: "demo", Mode: match.Duel, StartsAt: epoch,
		Rules: match.Rules{LimitMS: 10_000}, CountdownMS: 3000, RevealMS: 2500, Rated: true, CountsForLeaderboards: true,
		Seats: []match.Seat{
			{Player: "p_ada", Nickname: "Ada \"Ä\" 猫", Rating: &match.Rating{R: 1512.34567890123, RD: 200, Sigma: 0.06}},
			{Player: "p_bob", Nickname: "Bob"},
		},
	}
	for i := range 3 {
		plan.Questions = append(plan.Questions, quiz.DrawnQuestion{Question: &quiz.Question{
			ID: "q_" + strconv.Itoa(i), Kind: quiz.Single, Text: "Which?", Choices: []string{"a", "b"}, RightIndexes: []int{1},
		}})
	}
	return plan
}

// newDuel is a duel in its first state.
func newDuel(plan *match.Plan) match.NewMatch {
	return match.NewMatch{Plan: plan, State: duelState(), Found: foundPush(plan)}
}

// foundPush returns the first push of a duel; nil for an arena, which gets its first push
// when it starts.
func foundPush(plan *match.Plan) *protocol.NumberedPush {
	if plan.Arena != nil {
		return nil
	}
	push := protocol.EncodeNumberedPush(plan.ID, protocol.TypeMatchFound, map[string]any{"starts_at": plan.StartsAt})
	return &push
}

func (m *testMatch) createDuel(plan *match.Plan) {
	m.Helper()
	_, err := m.Create(m.Context(), newDuel(plan))
	m.must(err)
}

// must ends the test if there is an error.
func (m *testMatch) must(err error) {
	m.Helper()
	if err != nil {
		m.Fatal(err)
	}
}

// markSettled marks the match settled.
func (m *testMatch) markSettled() {
	m.Helper()
	m.must(m.MarkSettled(m.Context(), []match.Result{{Match: m.plan.ID}}))
}

// read reads the match with both players, the listed players and all frames.
func (m *testMatch) read() match.View {
	m.Helper()
	view, err := m.Read(m.Context(), match.ReadQuery{
		Match: m.plan.ID, Players: []string{"p_ada", "p_bob"}, WantListed: m.plan.Arena != nil, WantRanks: m.plan.Arena != nil,
	})
	m.must(err)
	return view
}

// step returns a step from a state to another phase.
func (m *testMatch) step(from match.State, to match.Phase, question int) match.Step {
	m.createdIDs++
	step := match.Step{
		Match: m.plan.ID, ID: fmt.Sprint("try ", m.createdIDs), From: from, NewState: from,
		Mode:   m.plan.Mode,
		Pushes: []protocol.NumberedPush{protocol.EncodeNumberedPush(m.plan.ID, string(to), map[string]any{"question": question})},
	}
	step.NewState.Phase, step.NewState.Question = to, question
	switch to {
	case match.PhaseCountdown:
		step.NewState.Alive = from.Players - from.LeftSeats
	case match.PhaseRevealed:
		if from.Right > 0 && m.plan.Mode == match.Survival {
			step.NewState.LastDecided, step.NewState.Alive = from.Question, from.Right
		}
	case match.PhaseOpen:
		step.NewState.OpensAt, step.NewState.ClosesAt = epoch+int64(question)*20_000, epoch+int64(question)*20_000+10_000
		step.NewState.DueAt, step.NewState.StartedAt = step.NewState.ClosesAt+150, epoch
	case match.PhaseOver:
		step.NewState.DueAt, step.TTLMS = 0, 360_000
		step.Result = &match.Result{Match: m.plan.ID, Game: "demo", OverAt: epoch + 99, Standings: []match.Standing{{Rank: 1, Player: "p_ada"}}}
	}
	return step
}

// applyStep applies a step that must succeed.
func (m *testMatch) applyStep(to match.Phase, question int) match.State {
	m.Helper()
	m.apply(m.step(m.read().State, to, question))
	return m.read().State
}

// apply applies a given step that must succeed.
func (m *testMatch) apply(step match.Step) {
	m.Helper()
	result, err := m.Step(m.Context(), step)
	if err != nil || !result.Applied {
		m.Fatalf("%s: %+v, %v", step.ID, result, err)
	}
}

// checkNotApplied checks that a step is not applied.
func (m *testMatch) checkNotApplied(step match.Step) {
	m.Helper()
	if result, err := m.Step(m.Context(), step); err != nil || result.Applied {
		m.Errorf("%s to %s of question %d: %+v, %v", step.ID, step.NewState.Phase, step.NewState.Question, result, err)
	}
}

// checkNoProgress checks that the match is not in the index of progress.
func (m *testMatch) checkNoProgress() {
	m.Helper()
	if progress, err := m.ReadProgress(m.Context(), []string{m.plan.ID}); err != nil || len(progress) != 0 {
		m.Errorf("progress %v, %v", progress, err)
	}
}

// attempt returns a right answer to the open question, this many ms after its
// opening.
func (m *testMatch) attempt(state match.State, player string, after int64) match.Attempt {
	m.createdIDs++
	return match.Attempt{
		Match: m.plan.ID, ID: fmt.Sprint("try ", m.createdIDs), OpensAt: state.OpensAt,
		Mode: m.plan.Mode, Seat: match.Seat{Player: player, Nickname: player},
		Record: match.Record{
			Player: player, Question: state.Question, Given: json.RawMessage(`{"choice":1}`), Normalized: "c:1", Correct: true,
			ArrivedAt: state.OpensAt + after, ElapsedMS: after, Points: 190, SavedMS: 10_000 - after,
		},
	}
}

// wrongAnswer returns an attempt with a wrong answer.
func wrongAnswer(attempt match.Attempt) match.Attempt {
	attempt.Record.Correct, attempt.Record.Points, attempt.Record.SavedMS = false, 0, 0
	return attempt
}

// commit commits an attempt and expects a verdict.
func (m *testMatch) commit(attempt match.Attempt, want match.Verdict) match.Outcome {
	m.Helper()
	outcome, err := m.Commit(m.Context(), attempt)
	if err != nil || outcome.Verdict != want {
		m.Fatalf("%s of question %d: %+v, %v, want %s", attempt.Record.Player, attempt.Record.Question, outcome, err, want)
	}
	return outcome
}

// answerStep returns a step that accepts an answer to a duel and changes nothing else.
func (m *testMatch) answerStep(view match.View, attempt match.Attempt) match.Step {
	record, totals := attempt.Record, view.Totals[attempt.Record.Player]
	totals.Score, totals.SavedMS = totals.Score+record.Points, totals.SavedMS+record.SavedMS
	totals.Answered, totals.LastAnswered = totals.Answered+1, record.Question+1
	step := match.Step{
		Match: m.plan.ID, ID: attempt.ID, Version: view.Version, From: view.State, NewState: view.State, Mode: m.plan.Mode,
		Pushes: []protocol.NumberedPush{protocol.EncodeNumberedPush(m.plan.ID, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: record.Question, Player: record.Player})},
	}
	step.NewState.Answered++
	if record.Correct {
		step.NewState.Right++
		totals.Correct, totals.LastCorrect, totals.Streak = totals.Correct+1, record.Question+1, 1
	}
	step.Answer = &match.StepAnswer{Attempt: attempt, Totals: totals}
	return step
}

// accept accepts an answer to a duel.
func (m *testMatch) accept(attempt match.Attempt) match.StepResult {
	m.Helper()
	result, err := m.Step(m.Context(), m.answerStep(m.read(), attempt))
	if err != nil || !result.Applied {
		m.Fatalf("%s of question %d: %+v, %v", attempt.Record.Player, attempt.Record.Question, result, err)
	}
	return result
}

// checkLog checks that the log is numbered from 1 without gaps and as long as
// the match and the index say.
func (m *testMatch) checkLog() {
	m.Helper()
	view := m.read()
	for i, f := range view.Frames {
		if want := fmt.Sprintf(`"match":"%s","seq":%d,"data":`, m.plan.ID, i+1); !strings.Contains(string(f), want) {
			m.Errorf("frame %d is %s", i+1, f)
		}
	}
	progress, err := m.ReadProgress(m.Context(), []string{m.plan.ID})
	if err != nil || view.Seq != int64(len(view.Frames)) || progress[m.plan.ID] != (match.Progress{Seq: view.Seq, Version: view.Version}) {
		m.Errorf("%d frames, the match is at %d, version %d, the index at %v (%v)", len(view.Frames), view.Seq, view.Version, progress, err)
	}
}

// indexedDueAt returns the match's score in the index of deadlines, or -1.
func (m *testMatch) indexedDueAt() int64 {
	m.Helper()
	score, err := m.client.ZScore(m.Context(), m.keys.due(), m.plan.ID).Result()
	if errors.Is(err, redis.Nil) {
		return -1
	}
	if err != nil {
		m.Fatal(err)
	}
	return int64(score)
}
