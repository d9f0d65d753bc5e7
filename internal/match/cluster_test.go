package match

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
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
func inBubble(t *testing.T, f func(w *cluster)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(&cluster{T: t, store: newMemoryStore(), bus: newFakeBus()}) })
}

// node is an engine that runs until the test or kill stops it.
type node struct {
	*Engine
	link *faultyStore
	kill func() // stops the node: it takes no further step

	mu    sync.Mutex
	overs []*Result
	ended []*Arena
}

func (w *cluster) node() *node { return w.nodeAhead(0) }

// startNodeAhead starts a node whose clock is ahead of the others by a duration.
func (w *cluster) nodeAhead(ahead time.Duration) *node {
	w.nodes++
	name := "n" + strconv.Itoa(w.nodes)
	n := &node{link: &faultyStore{memoryStore: w.store}}
	wheel := timer.New(timer.Config{Workers: 4})
	n.Engine = New(Config{
		Store: n.link, Index: n.link, Wheel: wheel, Presence: new(Presence),
		Now:      func() int64 { return now() + ahead.Milliseconds() },
		OnResult: n.over, OnArenaEnd: n.end, Logger: slog.New(slog.DiscardHandler),
		Node: name, Bus: busSender{w.bus, name},
	})
	w.bus.enter(name, n.Handlers())
	ctx, cancel := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := n.Run(ctx); err != nil {
			w.Error(err)
		}
	})
	n.kill = sync.OnceFunc(func() {
		w.bus.leave(name)
		cancel()
		running.Wait()
		wheel.Close()
	})
	w.Cleanup(n.kill)
	return n
}

func now() int64 { return time.Now().UnixMilli() }

func (n *node) over(r *Result) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.overs = append(n.overs, r)
}

func (n *node) end(a *Arena, _ string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended = append(n.ended, a)
}

// results returns the results of the matches that this node ended.
func (n *node) results() []*Result {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.overs
}

// countHeld counts the matches and attached players in the node's memory.
func (n *node) countHeld() (matches, fed int) {
	n.Engine.mu.Lock()
	defer n.Engine.mu.Unlock()
	return len(n.localMatches), len(n.attached)
}

// enter gives a player a session at the node.
func (n *node) enter(player string) *frameRecorder {
	in := new(frameRecorder)
	n.Presence.Enter("demo", player, in)
	return in
}

// startDuel creates a duel that opens its first question in 3 s.
func (n *node) begin(w *cluster, questions int) *Plan {
	w.Helper()
	p := newPlan("m_1", now()+3000, questions)
	if err := n.Start(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	return p
}

// answer submits an answer and runs its follow-up.
func (n *node) answer(p *Plan, player string, question int, given protocol.Given) (protocol.Answered, error) {
	reply, then, err := n.Answer(context.Background(), Submission{
		Player: player, At: now(), Answer: answerTo(p, question, given),
	})
	then()
	return reply, err
}

// frameRecorder is a session that records its frames.
type frameRecorder struct {
	mu     sync.Mutex
	raw    [][]byte
	forgot int
}

func (in *frameRecorder) Push(_ string, frames ...[]byte) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.raw = append(in.raw, frames...)
}

func (in *frameRecorder) DiscardHeld(string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.forgot++
}

func (in *frameRecorder) CanAttach(string) bool { return true }

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
		protocol.MatchOver
	}
}

func (in *frameRecorder) frames() [][]byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	return append([][]byte(nil), in.raw...)
}

func (in *frameRecorder) read(t testing.TB) []frame {
	t.Helper()
	raw := in.frames()
	frames := make([]frame, len(raw))
	for i := range raw {
		frames[i] = frameOf(t, raw[i])
	}
	return frames
}

func frameOf(t rapid.TB, raw []byte) (f frame) {
	t.Helper()
	if err := json.Unmarshal(raw, &f); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return f
}

// numbered returns the frames that have a number.
func (in *frameRecorder) numbered(t testing.TB) (raw [][]byte) {
	t.Helper()
	for _, frame := range in.frames() {
		if frameOf(t, frame).Seq > 0 {
			raw = append(raw, frame)
		}
	}
	return raw
}

// count counts the frames of a type.
func (in *frameRecorder) count(t testing.TB, kind string) (n int) {
	t.Helper()
	for _, f := range in.read(t) {
		if f.Type == kind {
			n++
		}
	}
	return n
}

// last returns the newest frame of a type.
func (in *frameRecorder) last(t testing.TB, kind string) frame {
	t.Helper()
	frames := in.read(t)
	for i := len(frames) - 1; i >= 0; i-- {
		if frames[i].Type == kind {
			return frames[i]
		}
	}
	t.Fatalf("no %s among %d frames", kind, len(frames))
	return frame{}
}

// seqs returns the numbers of the frames in order of arrival.
func (in *frameRecorder) seqs(t testing.TB) []int64 {
	t.Helper()
	var seqs []int64
	for _, raw := range in.numbered(t) {
		seqs = append(seqs, frameOf(t, raw).Seq)
	}
	return seqs
}

// passUntil advances the virtual time until a match is in a phase of a question
// and everything due then is done.
func (w *cluster) passUntil(p *Plan, phase Phase, question int) {
	w.Helper()
	for range 60_000 {
		if s := w.store.state(p.ID); s.Phase == phase && s.Question == question {
			synctest.Wait()
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.Fatalf("%s is at %+v and never %s of question %d", p.ID, w.store.state(p.ID), phase, question)
}

// checkComplete checks that a session has the match's log from a number on:
// every frame once and in order.
func (w *cluster) checkComplete(p *Plan, in *frameRecorder, after int64) {
	w.Helper()
	v, err := w.store.Read(w.Context(), ReadQuery{Match: p.ID, After: after})
	if err != nil {
		w.Fatal(err)
	}
	got := in.numbered(w)
	for i := range min(len(got), len(v.Frames)) {
		if !bytes.Equal(got[i], v.Frames[i]) {
			w.Fatalf("frame %d after %d is %s, in the log %s", i, after, got[i], v.Frames[i])
		}
	}
	if len(got) != len(v.Frames) {
		w.Fatalf("%d frames after %d, %d in the log", len(got), after, len(v.Frames))
	}
	for i, raw := range got {
		if seq := frameOf(w, raw).Seq; seq != after+int64(i)+1 {
			w.Fatalf("frame %d after %d has number %d", i, after, seq)
		}
	}
}

// checkStepsAppliedOnce checks that no step of any match was applied twice.
func (w *cluster) checkStepsAppliedOnce() {
	w.Helper()
	w.store.mu.Lock()
	defer w.store.mu.Unlock()
	for step, times := range w.store.applied {
		if times != 1 {
			w.Errorf("%s was taken %d times", step, times)
		}
	}
}
