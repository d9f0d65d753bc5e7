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
	"laststand/internal/rating"
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
	client redis.UniversalClient
	plan   *match.Plan
	keys   keys
	tries  int
}

// each runs a test on every kind of Redis, with a match in its countdown.
func each(t *testing.T, f func(p *testMatch)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		f(begin(t, c, newPlan(), duelState()))
	})
}

// begin creates a match.
func begin(t *testing.T, c redis.UniversalClient, plan *match.Plan, first match.State) *testMatch {
	t.Helper()
	p := &testMatch{T: t, Store: New(c, scripts(t, c)), client: c}
	return p.another(plan, first)
}

// another creates a match in the same store.
func (p *testMatch) another(plan *match.Plan, first match.State) *testMatch {
	p.Helper()
	p = &testMatch{T: p.T, Store: p.Store, client: p.client, plan: plan, keys: newKeys(plan.ID)}
	created, err := p.Create(p.Context(), plan, first, found(plan))
	if err != nil || !created {
		p.Fatalf("create: %v, %v", created, err)
	}
	p.Cleanup(func() { p.cleanUp(context.WithoutCancel(p.Context())) })
	return p
}

// scripts returns what runs scripts in the product: shared pipelines, except
// for the embedded Redis.
func scripts(t *testing.T, c redis.UniversalClient) redis.Scripter {
	t.Helper()
	if strings.HasSuffix(t.Name(), "/embedded") {
		return c
	}
	shared, err := c.AutoPipelineWithOptions(&redis.AutoPipelineOptions{MaxQueuedCommands: 1000})
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
func (p *testMatch) cleanUp(ctx context.Context) {
	if err := p.RemoveIndex(ctx, p.plan.ID); err != nil {
		p.Error(err)
	}
	if err := p.Settled(ctx, []match.Result{{Match: p.plan.ID}}); err != nil {
		p.Error(err)
	}
}

// duelState is the first state of a duel.
func duelState() match.State {
	return match.State{Phase: match.Countdown, Question: -1, LastDecided: -1, StartsAt: epoch, DueAt: epoch, Players: 2, Alive: 2}
}

func newPlan() *match.Plan {
	p := &match.Plan{
		Form: match.Form, ID: "m_" + ulid.Make().String(), Game: "demo", Mode: match.Duel, StartsAt: epoch,
		LimitMS: 10_000, CountdownMS: 3000, RevealMS: 2500, Rated: true, Counts: true,
		Seats: []match.Seat{
			{Player: "p_ada", Nickname: "Ada \"Ä\" 猫", Rating: &rating.Rating{R: 1512.34567890123, RD: 200, Sigma: 0.06}},
			{Player: "p_bob", Nickname: "Bob"},
		},
	}
	for i := range 3 {
		p.Questions = append(p.Questions, quiz.Drawn{Question: &quiz.Question{
			ID: "q_" + strconv.Itoa(i), Kind: quiz.Single, Text: "Which?", Choices: []string{"a", "b"}, Right: []int{1},
		}})
	}
	return p
}

// found returns the first push of a duel. An arena has none before it begins.
func found(p *match.Plan) *protocol.Numbered {
	if p.Arena != nil {
		return nil
	}
	n := protocol.EncodeNumbered(p.ID, protocol.TypeMatchFound, map[string]any{"starts_at": p.StartsAt})
	return &n
}

// read reads the match with both players, the listed players and all frames.
func (p *testMatch) read() match.View {
	p.Helper()
	v, err := p.Read(p.Context(), match.ReadQuery{
		Match: p.plan.ID, Players: []string{"p_ada", "p_bob"}, WantListed: p.plan.Arena != nil, WantRanks: p.plan.Arena != nil,
	})
	if err != nil {
		p.Fatal(err)
	}
	return v
}

// step returns a step from a state to another phase.
func (p *testMatch) step(from match.State, to match.Phase, question int) match.Step {
	p.tries++
	s := match.Step{
		Match: p.plan.ID, ID: fmt.Sprint("try ", p.tries), From: from.Phase, Question: from.Question, To: from,
		Buzzer: p.plan.Mode == match.Buzzer,
		Pushes: []protocol.Numbered{protocol.EncodeNumbered(p.plan.ID, string(to), map[string]any{"question": question})},
	}
	s.To.Phase, s.To.Question = to, question
	switch to {
	case match.Countdown:
		s.To.Alive = from.Players - from.LeftSeats
	case match.Revealed:
		if from.Right > 0 && p.plan.Mode == match.Survival {
			s.To.LastDecided, s.To.Alive = from.Question, from.Right
		}
	case match.Open:
		s.To.OpensAt, s.To.ClosesAt = epoch+int64(question)*20_000, epoch+int64(question)*20_000+10_000
		s.To.DueAt, s.To.StartedAt = s.To.ClosesAt+150, epoch
	case match.Over:
		s.To.DueAt, s.KeepMS = 0, 360_000
		s.Result = &match.Result{Match: p.plan.ID, Game: "demo", OverAt: epoch + 99, Standings: []match.Standing{{Rank: 1, Player: "p_ada"}}}
	}
	return s
}

// applyStep applies a step that must succeed.
func (p *testMatch) applyStep(to match.Phase, question int) match.State {
	p.Helper()
	done, err := p.Step(p.Context(), p.step(p.read().State, to, question))
	if err != nil || !done.Applied {
		p.Fatalf("to %s of %d: %+v, %v", to, question, done, err)
	}
	return p.read().State
}

// attempt returns a right answer to the open question, this many ms after its
// opening.
func (p *testMatch) attempt(s match.State, player string, after int64) match.Attempt {
	p.tries++
	seen := protocol.EncodeNumbered(p.plan.ID, protocol.TypeAnswerSeen, protocol.AnswerSeen{Question: s.Question, Player: player})
	return match.Attempt{
		Match: p.plan.ID, ID: fmt.Sprint("try ", p.tries), OpensAt: s.OpensAt, TTLMS: 3_600_000, Push: &seen,
		Mode: p.plan.Mode, Limit: 10_000, Seat: match.Seat{Player: player, Nickname: player},
		Record: match.Record{
			Player: player, Question: s.Question, Given: json.RawMessage(`{"choice":1}`), Normal: "c:1", Correct: true,
			At: s.OpensAt + after, ElapsedMS: after, Points: 190, SavedMS: 10_000 - after,
		},
	}
}

// wrong returns an attempt with a wrong answer.
func wrong(a match.Attempt) match.Attempt {
	a.Record.Correct, a.Record.Points, a.Record.SavedMS = false, 0, 0
	return a
}

// commit commits an attempt and expects a verdict.
func (p *testMatch) commit(a match.Attempt, want match.Verdict) match.Outcome {
	p.Helper()
	out, err := p.Commit(p.Context(), a)
	if err != nil || out.Verdict != want {
		p.Fatalf("%s of question %d: %+v, %v, want %s", a.Record.Player, a.Record.Question, out, err, want)
	}
	return out
}

// checkLog checks that the log is numbered from 1 without gaps and as long as
// the match and the index say.
func (p *testMatch) checkLog() {
	p.Helper()
	v := p.read()
	for i, f := range v.Frames {
		if want := fmt.Sprintf(`"match":"%s","seq":%d,"data":`, p.plan.ID, i+1); !strings.Contains(string(f), want) {
			p.Errorf("frame %d is %s", i+1, f)
		}
	}
	marks, err := p.ReadProgress(p.Context(), []string{p.plan.ID})
	if err != nil || v.Seq != int64(len(v.Frames)) || marks[p.plan.ID] != (match.Progress{Seq: v.Seq, Version: v.Version}) {
		p.Errorf("%d frames, the match is at %d, version %d, the index at %v (%v)", len(v.Frames), v.Seq, v.Version, marks, err)
	}
}

// due returns the match's score in the index of deadlines, or -1.
func (p *testMatch) due() int64 {
	p.Helper()
	score, err := p.client.ZScore(p.Context(), p.keys.due(), p.plan.ID).Result()
	if errors.Is(err, redis.Nil) {
		return -1
	}
	if err != nil {
		p.Fatal(err)
	}
	return int64(score)
}
