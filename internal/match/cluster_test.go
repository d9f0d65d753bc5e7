package match

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"laststand/internal/protocol"
	"laststand/internal/timer"
)

// cluster is a test with a store and the nodes that share it, in virtual time.
type cluster struct {
	*testing.T
	store *memoryStore
	bus   *fakeBus
	nodes int
}

// runInCluster runs a test with a new cluster in a synctest bubble.
func runInCluster(t *testing.T, f func(c *cluster)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(&cluster{T: t, store: newMemoryStore(), bus: newFakeBus()}) })
}

// runNamedInCluster runs a part of a test with a cluster of its own.
func runNamedInCluster(t *testing.T, name string, f func(c *cluster)) {
	t.Run(name, func(t *testing.T) { runInCluster(t, f) })
}

func (c *cluster) requireNoError(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// sleep advances the virtual time until everything due is done.
func (c *cluster) sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// node is an engine that runs until the test or kill stops it.
type node struct {
	*Engine
	c     *cluster
	store *faultyStore
	kill  func() // stops the node: it takes no further step

	mu           sync.Mutex
	endedResults []*Result
	endedArenas  []*Arena
}

func (c *cluster) startNode() *node { return c.startNodeAhead(0) }

// startNodeAhead starts a node whose clock is ahead of the other nodes' clocks.
func (c *cluster) startNodeAhead(ahead time.Duration) *node {
	c.nodes++
	name := "n" + strconv.Itoa(c.nodes)
	n := &node{c: c, store: &faultyStore{memoryStore: c.store}}
	wheel := timer.New(timer.Config{Workers: 4})
	n.Engine = New(Config{
		Matches: n.store, Answers: n.store, Places: n.store, Index: n.store, Results: n.store, Wheel: wheel, Presence: new(Presence),
		Now:      func() int64 { return now() + ahead.Milliseconds() },
		OnResult: n.recordResult, OnArenaEnd: n.recordArenaEnd, Logger: slog.New(slog.DiscardHandler),
		OnSettled:   func(context.Context, []Settlement) error { return nil },
		OnLifecycle: func(LifecycleEvent) {},
		RefusesText: func(string, string) bool { return false },
		Node:        name, Bus: busSender{c.bus, name},
	})
	c.bus.addNode(name, n.Handlers())
	ctx, cancel := context.WithCancel(c.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			c.Error(err)
		}
	})
	n.kill = sync.OnceFunc(func() {
		c.bus.removeNode(name)
		cancel()
		running.Wait()
		wheel.Close()
	})
	c.Cleanup(n.kill)
	return n
}

func now() int64 { return time.Now().UnixMilli() }

func (n *node) recordResult(result *Result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.endedResults = append(n.endedResults, result)
}

func (n *node) recordArenaEnd(arena *Arena, _ string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.endedArenas = append(n.endedArenas, arena)
}

// results returns the results of the matches that this node ended.
func (n *node) results() []*Result {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.endedResults
}

// countLocalMatches counts the matches and attached players in the node's memory.
func (n *node) countLocalMatches() (matches, players int) {
	n.Engine.mu.Lock()
	defer n.Engine.mu.Unlock()
	return len(n.localMatches), len(n.matchesByPlayer)
}

// openSession gives a player a session at the node.
func (n *node) openSession(player string) *frameRecorder {
	session := new(frameRecorder)
	n.Presence.Enter("demo", player, session)
	return session
}

// startDuel creates a duel that opens its first question in 3 s.
func (n *node) startDuel(c *cluster, questions int) *Plan {
	c.Helper()
	plan := newPlan("m_1", now()+3000, questions)
	c.requireNoError(n.StartDuel(c.Context(), plan))
	return plan
}

// openDuel creates a duel and waits until its first question is open.
func (n *node) openDuel(c *cluster, questions int) *Plan {
	c.Helper()
	plan := n.startDuel(c, questions)
	c.passUntil(plan, PhaseOpen, 0)
	return plan
}

// startBotDuel creates a duel of ada and a bot.
func (n *node) startBotDuel(c *cluster, questions int, bot Seat) *Plan {
	c.Helper()
	plan := newPlan("m_1", now()+3000, questions).withBotOpponent(bot)
	c.requireNoError(n.StartDuel(c.Context(), plan))
	return plan
}

// startDuelAt creates a duel of ada at a node and bob at another one.
func (c *cluster) startDuelAt(nodeOfAda, nodeOfBob *node, questions int) (plan *Plan, sessionOfAda, sessionOfBob *frameRecorder) {
	c.Helper()
	sessionOfAda, sessionOfBob = nodeOfAda.openSession(ada), nodeOfBob.openSession(bob)
	plan = nodeOfAda.startDuel(c, questions)
	c.requireNoError(nodeOfBob.AttachSession(c.Context(), plan.Game, plan.ID, bob))
	return plan, sessionOfAda, sessionOfBob
}

// attach gives a player a session at the node that gets the pushes after a number.
func (n *node) attach(plan *Plan, player string, after int64) *frameRecorder {
	n.c.Helper()
	session := n.openSession(player)
	n.c.requireNoError(n.Attach(n.c.Context(), AttachRequest{Match: plan.ID, Player: player, Session: session, AfterSeq: after}))
	return session
}

// sync attaches a session and returns the state that it gets before the pushes after a number.
func (n *node) sync(plan *Plan, player string, session Subscriber, after int64) (got protocol.MatchState) {
	n.c.Helper()
	n.c.requireNoError(n.Attach(n.c.Context(), AttachRequest{
		Match: plan.ID, Player: player, Session: session, AfterSeq: after, OnState: func(state protocol.MatchState) { got = state },
	}))
	return got
}

// answer submits an answer and runs its follow-up.
func (n *node) answer(plan *Plan, player string, question int, given protocol.Given) (protocol.Answered, error) {
	reply, afterReply, err := n.Answer(context.Background(), Submission{
		Player: player, ArrivedAt: now(), Answer: answerTo(plan, question, given),
	})
	afterReply()
	return reply, err
}

// mustAnswer submits an answer that must be accepted.
func (n *node) mustAnswer(plan *Plan, player string, question int, given protocol.Given) protocol.Answered {
	n.c.Helper()
	reply, err := n.answer(plan, player, question, given)
	n.c.requireNoError(err)
	return reply
}

func (n *node) answerRight(plan *Plan, player string, question int) {
	n.c.Helper()
	n.mustAnswer(plan, player, question, rightAnswer(&plan.Questions[question]))
}

func (n *node) answerWrong(plan *Plan, player string, question int) {
	n.c.Helper()
	n.mustAnswer(plan, player, question, wrongAnswer(&plan.Questions[question]))
}

// answerRefused submits an answer that must be refused with a code.
func (n *node) answerRefused(plan *Plan, player string, question int, given protocol.Given, code string) {
	n.c.Helper()
	if _, err := n.answer(plan, player, question, given); errorCode(err) != code {
		n.c.Errorf("an answer of %s to question %d of %s: %v, want %s", player, question, plan.ID, err, code)
	}
}

// frameRecorder is a session that records its frames.
type frameRecorder struct {
	mu        sync.Mutex
	rawFrames [][]byte
	pushedAt  []int64                // when each frame arrived (epoch ms)
	onPush    func(frames ...[]byte) // called at each push; may be nil
	discards  int
	duels     []duelChange
}

func (session *frameRecorder) Push(_ string, frames ...[]byte) {
	session.mu.Lock()
	defer session.mu.Unlock()
	session.rawFrames = append(session.rawFrames, frames...)
	session.pushedAt = append(session.pushedAt, slices.Repeat([]int64{now()}, len(frames))...)
	if session.onPush != nil {
		session.onPush(frames...)
	}
}

func (session *frameRecorder) setOnPush(onPush func(frames ...[]byte)) {
	session.mu.Lock()
	defer session.mu.Unlock()
	session.onPush = onPush
}

func (session *frameRecorder) DiscardUnsent(string) {
	session.mu.Lock()
	defer session.mu.Unlock()
	session.discards++
}

func (session *frameRecorder) CanAttach(string) bool { return true }

func (session *frameRecorder) DuelChanged(running bool) {
	session.mu.Lock()
	defer session.mu.Unlock()
	session.duels = append(session.duels, duelChange{running, len(session.rawFrames)})
}

// duelChange is a call of DuelChanged, and how many frames came before it.
type duelChange struct {
	running bool
	frames  int
}

type frame struct {
	Type string
	Seq  int64
	Data struct {
		Question int
		Player   string
		OpensAt  int64 `json:"opens_at"`
		ClosesAt int64 `json:"closes_at"`
		Answered int64
		Right    int64
		Void     bool
		First    *protocol.First
		Results  []protocol.QuestionResult
		Players  int64
		Counts   []int64
		Top      []protocol.ValueCount
		Scoring  protocol.Scoring
		Points   int64

		MaxPoints  int64  `json:"max_points"`
		ReadsUntil *int64 `json:"reads_until"`
		protocol.MatchOver
	}
}

func (session *frameRecorder) frames() [][]byte {
	session.mu.Lock()
	defer session.mu.Unlock()
	return append([][]byte(nil), session.rawFrames...)
}

func (session *frameRecorder) decodedFrames(t testing.TB) []frame {
	t.Helper()
	raw := session.frames()
	frames := make([]frame, len(raw))
	for i := range raw {
		frames[i] = decodeFrame(t, raw[i])
	}
	return frames
}

func decodeFrame(t rapid.TB, raw []byte) (received frame) {
	t.Helper()
	if err := json.Unmarshal(raw, &received); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return received
}

// framesWithSeq returns the frames that have a number.
func (session *frameRecorder) framesWithSeq(t testing.TB) (raw [][]byte) {
	t.Helper()
	for _, frame := range session.frames() {
		if decodeFrame(t, frame).Seq > 0 {
			raw = append(raw, frame)
		}
	}
	return raw
}

// countType counts the frames of a type.
func (session *frameRecorder) countType(t testing.TB, kind string) (n int) {
	t.Helper()
	for _, received := range session.decodedFrames(t) {
		if received.Type == kind {
			n++
		}
	}
	return n
}

// lastOfType returns the newest frame of a type.
func (session *frameRecorder) lastOfType(t testing.TB, kind string) frame {
	t.Helper()
	frames := session.decodedFrames(t)
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].Type == kind {
			return frames[i]
		}
	}
	t.Fatalf("no %s among %d frames", kind, len(frames))
	return frame{}
}

// seqs returns the numbers of the frames in order of arrival.
func (session *frameRecorder) seqs(t testing.TB) []int64 {
	t.Helper()
	var seqs []int64
	for _, raw := range session.framesWithSeq(t) {
		seqs = append(seqs, decodeFrame(t, raw).Seq)
	}
	return seqs
}

// passUntil advances the virtual time until a match is in a phase of a question
// and everything due at that time is done.
func (c *cluster) passUntil(plan *Plan, phase Phase, question int) {
	c.Helper()
	for range 60_000 {
		if state := c.store.state(plan.ID); state.Phase == phase && state.Question == question {
			synctest.Wait()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	c.Fatalf("%s is at %+v and never reaches %s of question %d", plan.ID, c.store.state(plan.ID), phase, question)
}

// checkReceivedLog checks that a session has the match's log from a number on:
// every frame once and in order.
func (c *cluster) checkReceivedLog(plan *Plan, session *frameRecorder, after int64) {
	c.Helper()
	view, err := c.store.Read(c.Context(), ReadQuery{Match: plan.ID, AfterSeq: after})
	c.requireNoError(err)
	got := session.framesWithSeq(c)
	for i := range min(len(got), len(view.Frames)) {
		if !bytes.Equal(got[i], view.Frames[i]) {
			c.Fatalf("frame %d after %d is %s, in the log %s", i, after, got[i], view.Frames[i])
		}
	}
	if len(got) != len(view.Frames) {
		c.Fatalf("%d frames after %d, %d in the log", len(got), after, len(view.Frames))
	}
	for i, raw := range got {
		if seq := decodeFrame(c, raw).Seq; seq != after+int64(i)+1 {
			c.Fatalf("frame %d after %d has number %d", i, after, seq)
		}
	}
}

// checkWholeLog checks that sessions have the match's complete log.
func (c *cluster) checkWholeLog(plan *Plan, sessions ...*frameRecorder) {
	c.Helper()
	for _, session := range sessions {
		c.checkReceivedLog(plan, session, 0)
	}
}

// checkStepsAppliedOnce checks that no step of any match was applied twice.
func (c *cluster) checkStepsAppliedOnce() {
	c.Helper()
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	for step, times := range c.store.applied {
		if times != 1 {
			c.Errorf("step %s was applied %d times", step, times)
		}
	}
}
