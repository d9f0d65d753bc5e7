package match

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// The store fails when a node must send personal results of a question that
// another node revealed. The players get them once, a little later.
func TestPersonalResultsAreRetried(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		run := c.startArenaPlaythrough(newArena(Survival, 2), 53, nodeA, nodeB)
		var failuresLeft atomic.Int64
		failuresLeft.Store(2)
		fault := func(method, _ string) fault {
			state := c.store.state(run.plan.ID)
			if method == "Read" && state.Phase == PhaseRevealed && state.Question == 1 && failuresLeft.Add(-1) >= 0 {
				return failsBefore
			}
			return noFault
		}
		nodeA.store.setFault(fault)
		nodeB.store.setFault(fault)
		run.play()
		run.checkLogsAndResult()
		if failuresLeft.Load() > 0 {
			c.Error("the personal results were never read")
		}
	})
}

// bundleRecorder is a session that records which frames were pushed together.
type bundleRecorder struct {
	frameRecorder
	pushes []*frameRecorder
}

func (b *bundleRecorder) Push(match string, frames ...[]byte) {
	push := new(frameRecorder)
	push.Push(match, frames...)
	b.frameRecorder.Push(match, frames...)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pushes = append(b.pushes, push)
}

// typesPerPush returns the types of the frames that were pushed together, per push.
func (b *bundleRecorder) typesPerPush(t testing.TB) []string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var typeLists []string
	for _, push := range b.pushes {
		var types []string
		for _, received := range push.decodedFrames(t) {
			types = append(types, received.Type)
		}
		typeLists = append(typeLists, strings.Join(types, ", "))
	}
	return typeLists
}

// Players at the revealing node get their personal result with the reveal, and
// also the next question if it opens at once. The node reads nothing in
// between.
func TestPersonalResultsArriveWithReveal(t *testing.T) {
	for name, testCase := range map[string]struct {
		revealMS int64
		want     string
	}{
		"the next question later":   {2500, "question.closed, own"},
		"the next question at once": {0, "question.closed, own, question"},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *cluster) {
				n, plan := c.startNode(), newArena(Survival, 2)
				plan.RevealMS = testCase.revealMS
				sessions := c.createArenaWithPlayers(plan, FullListPlayers+1, n)
				recorder := &bundleRecorder{}
				n.Presence.Enter("demo", plan.arenaSeat(0).Player, recorder)
				c.requireNoError(n.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: plan.arenaSeat(0).Player, Session: recorder}))
				var reads atomic.Int64
				n.store.setFault(func(method, _ string) fault {
					if method == "Read" && c.store.state(plan.ID).Phase == PhaseRevealed {
						reads.Add(1)
					}
					return noFault
				})
				c.requireNoError(n.StartArena(c.Context(), plan.ID))
				c.passUntil(plan, PhaseOpen, 0)
				for i := range sessions {
					if _, err := n.answer(plan, plan.arenaSeat(i).Player, 0, rightAnswer(&plan.Questions[0])); err != nil {
						c.Fatal(err)
					}
				}
				time.Sleep(10 * time.Millisecond)
				if pushes := recorder.typesPerPush(c); !slices.Contains(pushes, testCase.want) || reads.Load() > 0 {
					c.Errorf("pushed %q, read %d times", pushes, reads.Load())
				}
			})
		})
	}
}

// A node that learns only from a read that everyone has answered reads once
// more for the personal results of the reveal.
func TestReadThatShowsAllAnswersIsFollowedByReadForPersonalResults(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan := c.startNode(), newArena(Survival, 2)
		sessions := c.createArenaWithPlayers(plan, FullListPlayers+1, n)
		n.store.setFault(func(method, _ string) fault {
			if method == "Step" && c.store.state(plan.ID).hasAllAnswers() {
				return failsBefore
			}
			return noFault
		})
		c.requireNoError(n.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		for i := range sessions {
			if _, err := n.answer(plan, plan.arenaSeat(i).Player, 0, rightAnswer(&plan.Questions[0])); err != nil {
				c.Fatal(err)
			}
		}
		local, err := n.loadMatch(c.Context(), plan.ID)
		c.requireNoError(err)
		steps := stepRun{engine: n.Engine, match: local}
		view, err := steps.read(c.Context(), View{})
		c.requireNoError(err)
		if !view.hasAllAnswers() || len(steps.recipients.players) != len(sessions) {
			c.Errorf("%s, %d players are read of %d", view.Phase, len(steps.recipients.players), len(sessions))
		}
	})
}

// A node that wants to close a question finds that everyone has answered the
// next question. It sends the personal results of the next question and uses no
// records of the former one.
func TestLateCloseSendsPersonalResultsOfNextQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, other, plan := c.startNode(), c.startNode(), newArena(Survival, 3)
		sessions := c.createArenaWithPlayers(plan, FullListPlayers+1, n)
		answer := func(answeringNode *node, i, question int, given protocol.Given) {
			if _, err := answeringNode.answer(plan, plan.arenaSeat(i).Player, question, given); err != nil {
				c.Error(err)
			}
		}
		c.requireNoError(n.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		for i := range sessions[1:] {
			answer(n, i+1, 0, rightAnswer(&plan.Questions[0]))
		}
		resumeReads := make(chan struct{})
		n.store.setFault(func(method, _ string) fault {
			switch method {
			case "Read":
				<-resumeReads
			case "ListDue", "ReadProgress":
				return failsBefore
			}
			return noFault
		})
		var lastAnswer sync.WaitGroup
		lastAnswer.Go(func() { answer(n, 0, 0, rightAnswer(&plan.Questions[0])) })
		c.passUntil(plan, PhaseOpen, 1)
		other.store.setFault(failsStepsAndSearches)
		answer(other, 0, 1, wrongAnswer(&plan.Questions[1]))
		for i := range sessions[1:] {
			answer(other, i+1, 1, rightAnswer(&plan.Questions[1]))
		}
		close(resumeReads)
		lastAnswer.Wait()
		synctest.Wait()
		for i, session := range sessions {
			own := string(session.lastRawOfType(c, protocol.TypeOwn))
			if !strings.Contains(own, `"question":1,"given":{"`) || strings.Contains(own, `"correct":true`) != (i > 0) {
				c.Errorf("player %d: %s", i, own)
			}
		}
	})
}

// A node does not read the records that it accepted itself, neither for
// personal results nor before it closes a question. It reads those that another
// node accepted.
func TestRecordsAcceptedHereAreNotRead(t *testing.T) {
	for name, oneElsewhere := range map[string]bool{"all answers accepted here": false, "one accepted elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *cluster) {
				n, plan := c.startNode(), newArena(Survival, 2)
				sessions := c.createArenaWithPlayers(plan, FullListPlayers+2, n)
				c.requireNoError(n.StartArena(c.Context(), plan.ID))
				c.passUntil(plan, PhaseOpen, 0)
				for i := range sessions {
					answeringNode, given := n, rightAnswer(&plan.Questions[0])
					switch {
					case i == 0 && oneElsewhere:
						answeringNode = c.startNode()
					case i+1 == len(sessions):
						n.store.recordReads()
						given = wrongAnswer(&plan.Questions[0])
					}
					if _, err := answeringNode.answer(plan, plan.arenaSeat(i).Player, 0, given); err != nil {
						c.Fatal(err)
					}
				}
				synctest.Wait()
				if reads := n.store.recordReads(); len(reads) == 0 || len(reads[0].Players) != len(sessions) || reads[0].OmitRecords == oneElsewhere {
					c.Errorf("%+v", reads)
				}
				for i, session := range sessions {
					own := string(session.lastRawOfType(c, "own"))
					right := i+1 < len(sessions)
					if !strings.Contains(own, `"question":0,"given":{"`) || strings.Contains(own, `"correct":true`) != right {
						c.Errorf("player %d: %s", i, own)
					}
				}
			})
		})
	}
}

// lastRawOfType returns the newest frame of a type as pushed.
func (session *frameRecorder) lastRawOfType(t testing.TB, kind string) (last []byte) {
	t.Helper()
	for _, frame := range session.frames() {
		if decodeFrame(t, frame).Type == kind {
			last = frame
		}
	}
	return last
}
