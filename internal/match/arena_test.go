package match

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/protocol"
)

// createArenaWithPlayers creates an arena and distributes its players over the nodes.
func (c *cluster) createArenaWithPlayers(plan *Plan, players int, nodes ...*node) []*frameRecorder {
	c.Helper()
	c.requireNoError(nodes[0].CreateArena(c.Context(), plan))
	sessions := make([]*frameRecorder, players)
	for i := range sessions {
		sessions[i] = c.addPlayer(plan, i, nodes[i%len(nodes)])
	}
	return sessions
}

// addPlayer gives the i-th player a seat and a session at a node.
func (c *cluster) addPlayer(plan *Plan, i int, n *node) *frameRecorder {
	c.Helper()
	seat := plan.arenaSeat(i)
	if !c.store.addSeat(plan.ID, seat) {
		c.Fatalf("no seat for %s", seat.Player)
	}
	session := n.openSession(seat.Player)
	c.requireNoError(n.AttachFrom(c.Context(), plan.ID, seat.Player, 0))
	n.NotifyPlacesChanged(plan.ID)
	return session
}

// arenaPlaythrough is a complete match of an arena, played by its players at their
// nodes. An oracle gets the same events.
type arenaPlaythrough struct {
	*cluster
	plan            *Plan
	nodes           []*node
	sessions        []*frameRecorder
	oracle          *oracle
	firstByQuestion map[int]string
}

func (c *cluster) startArenaPlaythrough(plan *Plan, players int, nodes ...*node) *arenaPlaythrough {
	run := &arenaPlaythrough{
		cluster: c, plan: plan, nodes: nodes, sessions: c.createArenaWithPlayers(plan, players, nodes...),
		oracle: newOracle(plan), firstByQuestion: map[int]string{},
	}
	for i := range players {
		seat := plan.arenaSeat(i)
		run.oracle.players[seat.Player] = &playerTotals{team: seat.Team}
	}
	return run
}

// play answers for everyone who may answer, sometimes wrong.
func (run *arenaPlaythrough) play() {
	run.Helper()
	run.requireNoError(run.nodes[0].StartArena(run.Context(), run.plan.ID))
	for question := 0; ; question++ {
		for run.store.state(run.plan.ID).Phase != PhaseOver && run.store.state(run.plan.ID).Question < question {
			time.Sleep(5 * time.Millisecond)
		}
		if run.store.state(run.plan.ID).Phase == PhaseOver {
			break
		}
		run.oracle.openQuestion(question)
		run.answerQuestion(question)
		run.passUntil(run.plan, PhaseRevealed, question)
		run.oracle.closeQuestion(question)
	}
	run.sleep(2100 * time.Millisecond) // two recovery rounds
}

func (run *arenaPlaythrough) answerQuestion(question int) {
	run.Helper()
	opensAt := run.store.state(run.plan.ID).OpensAt
	for _, i := range rand.Perm(len(run.sessions)) {
		time.Sleep(time.Duration(rand.N(20)) * time.Millisecond)
		player, isRight := run.plan.arenaSeat(i).Player, rand.N(5) > 0
		given := wrongAnswer(&run.plan.Questions[question])
		if isRight {
			given = rightAnswer(&run.plan.Questions[question])
		}
		reply, err := run.nodes[i%len(run.nodes)].answer(run.plan, player, question, given)
		if (err == nil) != run.oracle.canAnswer(player) && errorCode(err) != "question_closed" {
			run.Fatalf("%s: %v, %+v", player, err, run.oracle.players[player])
		}
		if err != nil {
			continue
		}
		run.oracle.recordAnswer(player, isRight, reply.At-opensAt)
		if run.plan.Mode == Buzzer && (*reply.Correct != isRight || *reply.First != isRight) {
			run.Fatalf("reply %+v to an answer that is right: %v", reply, isRight)
		}
		if run.plan.Mode == Buzzer && isRight {
			if run.firstByQuestion[question] != "" {
				run.Fatalf("%s and %s were first", run.firstByQuestion[question], player)
			}
			run.firstByQuestion[question] = player
		}
	}
}

// checkLogsAndResult checks that all sessions have the complete log and that the result
// agrees with the oracle.
func (run *arenaPlaythrough) checkLogsAndResult() {
	run.Helper()
	run.checkStepsAppliedOnce()
	var results []*Result
	for _, n := range run.nodes {
		results = append(results, n.results()...)
	}
	if len(results) != 1 {
		run.Fatalf("%d results", len(results))
	}
	for _, result := range results[0].Standings {
		want := run.oracle.players[result.Player]
		if result.Score != want.score || result.TimeMS != want.timeMS || result.Asked != want.askedQuestions || result.Correct != want.correct || result.Rank != run.oracle.rank(result.Player) {
			run.Errorf("%+v, want %+v at rank %d", result, *want, run.oracle.rank(result.Player))
		}
	}
	if len(results[0].Standings) != len(run.sessions) || len(results[0].Firsts) != len(run.firstByQuestion) {
		run.Errorf("%d standings, %d firsts, want %d", len(results[0].Standings), len(results[0].Firsts), len(run.firstByQuestion))
	}
	for _, session := range run.sessions {
		run.checkWholeLog(run.plan, session)
		run.checkPersonalResults(session)
	}
}

// checkPersonalResults checks that each player of a large match gets one personal
// result after each close. In a small match there must be none.
func (run *arenaPlaythrough) checkPersonalResults(session *frameRecorder) {
	run.Helper()
	lastClosed, lastOwn := -1, -1
	for _, received := range session.decodedFrames(run) {
		switch received.Type {
		case protocol.TypeQuestionClosed:
			lastClosed = received.Data.Question
		case protocol.TypeOwn:
			if received.Data.Question != lastClosed || lastOwn == lastClosed {
				run.Fatalf("personal result of question %d after the close of question %d and the personal result of question %d", received.Data.Question, lastClosed, lastOwn)
			}
			lastOwn = lastClosed
		}
	}
	if isLarge := len(run.sessions) > FullListPlayers; isLarge != (lastOwn >= 0) || isLarge && lastOwn != lastClosed {
		run.Errorf("%d personal results, %d closed questions", lastOwn+1, lastClosed+1)
	}
}

// Three nodes play a small and a large match while messages between the nodes
// are lost, repeated or delayed.
func TestArenaOnSeveralNodesSurvivesLostMessages(t *testing.T) {
	t.Parallel()
	var messages atomic.Int64
	for name, route := range map[string]func(string) (int, time.Duration){
		"all messages arrive":  nil,
		"no message arrives":   func(string) (int, time.Duration) { return 0, 0 },
		"every second is lost": func(string) (int, time.Duration) { return int(messages.Add(1) % 2), 0 },
		"all arrive twice":     func(string) (int, time.Duration) { return 2, 0 },
		"all arrive late":      func(string) (int, time.Duration) { return 1, rand.N(300 * time.Millisecond) },
	} {
		for _, mode := range []Mode{Buzzer, Survival} {
			for _, players := range []int{5, 53} {
				runNamedInCluster(t, fmt.Sprint(name, ", ", mode, " of ", players), func(c *cluster) {
					c.bus.setRoute(route)
					run := c.startArenaPlaythrough(newArena(mode, 4, "red", "blue"), players, c.startNode(), c.startNode(), c.startNode())
					run.play()
					run.checkLogsAndResult()
				})
			}
		}
	}
}

// The first push of a match is its announcement. That also holds for a player
// who joins in the last moment, before or after the start.
func TestLatePlayerGetsAnnouncementFirst(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Member", "Read", "never"} {
		for _, startsAtCall := range []int64{1, 2} {
			runNamedInCluster(t, fmt.Sprint(method, startsAtCall), func(c *cluster) {
				nodeA, nodeB := c.startNode(), c.startNode()
				plan := newArena(Buzzer, 1)
				early := c.createArenaWithPlayers(plan, 1, nodeA)
				var calls atomic.Int64
				nodeB.store.setFault(func(called, _ string) fault {
					if called == method && calls.Add(1) == startsAtCall {
						c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
					}
					return noFault
				})
				late := c.addPlayer(plan, 1, nodeB)
				c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
				c.passUntil(plan, PhaseOver, 0)
				synctest.Wait()
				for _, session := range []*frameRecorder{early[0], late} {
					c.checkWholeLog(plan, session)
					if n := session.countType(c, protocol.TypeMatchFound); n != 1 {
						c.Errorf("announced %d times", n)
					}
				}
			})
		}
	}
}

// A spectator gets the pushes after joining and may request earlier ones.
func TestSpectatorGetsPushesAndReplay(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Survival, 2)
		players := c.startArena(plan, 2, nodeA)
		c.store.addWatcher(plan.ID, "p_eve", SpectatorRole)
		session := nodeB.openSession("p_eve")
		c.requireNoError(nodeB.AttachFrom(c.Context(), plan.ID, "p_eve", 2))
		nodeB.answerRefused(plan, "p_eve", 0, rightAnswer(&plan.Questions[0]), "not_in_match")
		if nodeB.IsInMatch("demo", "p_eve") {
			c.Error("the spectator counts as playing")
		}
		c.passUntil(plan, PhaseRevealed, 0)
		time.Sleep(10 * time.Millisecond)
		c.checkReceivedLog(plan, session, 2)
		got := nodeB.sync(plan, "p_eve", session, 0)
		if got.Own != (protocol.OwnScore{}) || len(got.Scores) != 2 || got.Phase != "revealed" {
			c.Errorf("%+v", got)
		}
		if err := nodeB.CheckSeat(c.Context(), plan.ID, "p_eve"); err == nil {
			c.Error("the spectator has a seat")
		}
		for player, want := range map[string]bool{"p_eve": false, "stranger": false, plan.arenaSeat(0).Player: true} {
			if hasSeat, err := nodeB.HasSeat(c.Context(), "demo", plan.ID, player); err != nil || hasSeat != want {
				c.Errorf("%s has a seat: %t, %v", player, hasSeat, err)
			}
		}
		for _, key := range [][2]string{{"another", plan.ID}, {"demo", "m_none"}} {
			if _, err := nodeB.HasSeat(c.Context(), key[0], key[1], plan.arenaSeat(0).Player); err != ErrNotFound { //nolint:errorlint // it is not wrapped
				c.Errorf("%v: %v", key, err)
			}
		}
		c.passUntil(plan, PhaseOver, 1)
		c.checkWholeLog(plan, players[0])
	})
}

// A match in its lobby is not found, and none of its pushes precedes the
// announcement.
func TestArenaInLobbyIsNotFoundAsMatch(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := newArena(Buzzer, 1)
		session := c.createArenaWithPlayers(plan, 1, n)[0]
		player := plan.arenaSeat(0).Player
		err := n.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: player, Session: session, OnState: func(protocol.MatchState) { c.Error("the state of the lobby was sent") }})
		if err != ErrNotFound { //nolint:errorlint // it is not wrapped
			c.Errorf("%v", err)
		}
		if n.IsInMatch("demo", player) || n.hasNoLocalMatch(plan.ID) {
			c.Error("the player counts as playing in the lobby, or the node dropped the match")
		}
		status, err := n.Status(c.Context(), plan.ID)
		if err != nil || status != (Status{ArenaID: "a_1", Running: true}) {
			c.Errorf("%+v, %v", status, err)
		}
		if got := session.seqs(c); len(got) != 0 {
			c.Errorf("pushed %v", got)
		}
	})
}

func (n *node) hasNoLocalMatch(id string) bool { return n.findLocalMatch(id) == nil }
