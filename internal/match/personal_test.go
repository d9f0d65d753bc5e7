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
		n, other := c.startNode(), c.startNode()
		run := c.startArenaPlaythrough(newArena(Survival, 2), 53, n, other)
		var fail atomic.Int64
		fail.Store(2)
		fault := func(method, _ string) fault {
			state := c.store.state(run.plan.ID)
			if method == "Read" && state.Phase == PhaseRevealed && state.Question == 1 && fail.Add(-1) >= 0 {
				return failsBefore
			}
			return noFault
		}
		n.store.setFault(fault)
		other.store.setFault(fault)
		run.play()
		run.check()
		if fail.Load() > 0 {
			c.Error("the personal results were never read")
		}
	})
}

// bundleRecorder is a session that records which frames were pushed together.
type bundleRecorder struct {
	frameRecorder
	all []*frameRecorder
}

func (b *bundleRecorder) Push(match string, frames ...[]byte) {
	one := new(frameRecorder)
	one.Push(match, frames...)
	b.frameRecorder.Push(match, frames...)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, one)
}

// typesPerPush returns the types of the frames that were pushed together, per push.
func (b *bundleRecorder) typesPerPush(t testing.TB) []string {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	var kinds []string
	for _, one := range b.all {
		var types []string
		for _, received := range one.decodedFrames(t) {
			types = append(types, received.Type)
		}
		kinds = append(kinds, strings.Join(types, ", "))
	}
	return kinds
}

// Players at the revealing node get their personal result with the reveal, and
// also the next question if it opens at once. The node reads nothing in
// between.
func TestPersonalResultsArriveWithReveal(t *testing.T) {
	for name, test := range map[string]struct {
		revealMS int64
		want     string
	}{
		"the next question later":   {2500, "question.closed, own"},
		"the next question at once": {0, "question.closed, own, question"},
	} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *cluster) {
				n, p := c.startNode(), newArena(Survival, 2)
				p.RevealMS = test.revealMS
				ins := c.createArenaWithPlayers(p, FullListPlayers+1, n)
				first := &bundleRecorder{}
				n.Presence.Enter("demo", p.arenaSeat(0).Player, first)
				c.requireNoError(n.Attach(c.Context(), AttachRequest{Match: p.ID, Player: p.arenaSeat(0).Player, Session: first}))
				var reads atomic.Int64
				n.store.setFault(func(method, _ string) fault {
					if method == "Read" && c.store.state(p.ID).Phase == PhaseRevealed {
						reads.Add(1)
					}
					return noFault
				})
				c.requireNoError(n.StartArena(c.Context(), p.ID))
				c.passUntil(p, PhaseOpen, 0)
				for i := range ins {
					if _, err := n.answer(p, p.arenaSeat(i).Player, 0, rightAnswer(&p.Questions[0])); err != nil {
						c.Fatal(err)
					}
				}
				time.Sleep(10 * time.Millisecond)
				if kinds := first.typesPerPush(c); !slices.Contains(kinds, test.want) || reads.Load() > 0 {
					c.Errorf("pushed %q, read %d times", kinds, reads.Load())
				}
			})
		})
	}
}

// A node that learns only from a read that everyone has answered reads once
// more for the personal results of the reveal.
func TestPersonalResultsOfACloseByAnotherNode(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, p := c.startNode(), newArena(Survival, 2)
		ins := c.createArenaWithPlayers(p, FullListPlayers+1, n)
		n.store.setFault(func(method, _ string) fault {
			if method == "Step" && c.store.state(p.ID).hasAllAnswers() {
				return failsBefore
			}
			return noFault
		})
		c.requireNoError(n.StartArena(c.Context(), p.ID))
		c.passUntil(p, PhaseOpen, 0)
		for i := range ins {
			if _, err := n.answer(p, p.arenaSeat(i).Player, 0, rightAnswer(&p.Questions[0])); err != nil {
				c.Fatal(err)
			}
		}
		local, err := n.loadMatch(c.Context(), p.ID)
		c.requireNoError(err)
		steps := stepRun{engine: n.Engine, match: local}
		view, err := steps.read(c.Context(), View{})
		c.requireNoError(err)
		if !view.hasAllAnswers() || len(steps.recipients.players) != len(ins) {
			c.Errorf("%s, %d players are read of %d", view.Phase, len(steps.recipients.players), len(ins))
		}
	})
}

// A node that wants to close a question finds that everyone has answered the
// next question. It sends the personal results of the next question and uses no
// records of the former one.
func TestPersonalResultsOfTheNextQuestion(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, other, p := c.startNode(), c.startNode(), newArena(Survival, 3)
		ins := c.createArenaWithPlayers(p, FullListPlayers+1, n)
		answer := func(at *node, i, question int, given protocol.Given) {
			if _, err := at.answer(p, p.arenaSeat(i).Player, question, given); err != nil {
				c.Error(err)
			}
		}
		c.requireNoError(n.StartArena(c.Context(), p.ID))
		c.passUntil(p, PhaseOpen, 0)
		for i := range ins[1:] {
			answer(n, i+1, 0, rightAnswer(&p.Questions[0]))
		}
		held := make(chan struct{})
		n.store.setFault(func(method, _ string) fault {
			switch method {
			case "Read":
				<-held
			case "ListDue", "ReadProgress":
				return failsBefore
			}
			return noFault
		})
		var last sync.WaitGroup
		last.Go(func() { answer(n, 0, 0, rightAnswer(&p.Questions[0])) })
		c.passUntil(p, PhaseOpen, 1)
		other.store.setFault(failsStepsAndSearches)
		answer(other, 0, 1, wrongAnswer(&p.Questions[1]))
		for i := range ins[1:] {
			answer(other, i+1, 1, rightAnswer(&p.Questions[1]))
		}
		close(held)
		last.Wait()
		synctest.Wait()
		for i, in := range ins {
			own := string(in.lastRawOfType(c, protocol.TypeOwn))
			if !strings.Contains(own, `"question":1,"given":{"`) || strings.Contains(own, `"correct":true`) != (i > 0) {
				c.Errorf("player %d: %s", i, own)
			}
		}
	})
}

// A node does not read the records that it accepted itself, neither for
// personal results nor before it closes a question. It reads those that another
// node accepted.
func TestPersonalResultsFromLocalRecords(t *testing.T) {
	for name, moved := range map[string]bool{"all answers accepted here": false, "one accepted elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			runInCluster(t, func(c *cluster) {
				n, p := c.startNode(), newArena(Survival, 2)
				ins := c.createArenaWithPlayers(p, FullListPlayers+2, n)
				c.requireNoError(n.StartArena(c.Context(), p.ID))
				c.passUntil(p, PhaseOpen, 0)
				for i := range ins {
					at, given := n, rightAnswer(&p.Questions[0])
					switch {
					case i == 0 && moved:
						at = c.startNode()
					case i+1 == len(ins):
						n.store.recordReads()
						given = wrongAnswer(&p.Questions[0])
					}
					if _, err := at.answer(p, p.arenaSeat(i).Player, 0, given); err != nil {
						c.Fatal(err)
					}
				}
				synctest.Wait()
				if reads := n.store.recordReads(); len(reads) == 0 || len(reads[0].Players) != len(ins) || reads[0].OmitRecords == moved {
					c.Errorf("%+v", reads)
				}
				for i, in := range ins {
					own := string(in.lastRawOfType(c, "own"))
					right := i+1 < len(ins)
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
		if frameOf(t, frame).Type == kind {
			last = frame
		}
	}
	return last
}
