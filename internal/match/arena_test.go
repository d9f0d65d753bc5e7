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
	if err := nodes[0].CreateArena(c.Context(), plan); err != nil {
		c.Fatal(err)
	}
	in := make([]*frameRecorder, players)
	for i := range in {
		in[i] = c.addPlayer(plan, i, nodes[i%len(nodes)])
	}
	return in
}

// addPlayer gives the i-th player a seat and a session at a node.
func (c *cluster) addPlayer(plan *Plan, i int, n *node) *frameRecorder {
	c.Helper()
	seat := plan.arenaSeat(i)
	if !c.store.addSeat(plan.ID, seat) {
		c.Fatalf("no seat for %s", seat.Player)
	}
	session := n.openSession(seat.Player)
	if err := n.AttachFrom(c.Context(), plan.ID, seat.Player, 0); err != nil {
		c.Fatal(err)
	}
	n.NotifyPlacesChanged(plan.ID)
	return session
}

func (c *cluster) requireNoError(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// arenaPlaythrough is a complete match of an arena, played by its players at their
// nodes. An oracle gets the same events.
type arenaPlaythrough struct {
	*cluster
	plan   *Plan
	nodes  []*node
	in     []*frameRecorder
	oracle *oracle
	firsts map[int]string
}

func (c *cluster) startArenaPlaythrough(plan *Plan, players int, nodes ...*node) *arenaPlaythrough {
	run := &arenaPlaythrough{
		cluster: c, plan: plan, nodes: nodes, in: c.createArenaWithPlayers(plan, players, nodes...),
		oracle: newOracle(plan.Mode, plan.LimitMS), firsts: map[int]string{},
	}
	for i := range players {
		seat := plan.arenaSeat(i)
		run.oracle.players[seat.Player] = &playerTotals{team: seat.Team}
	}
	return run
}

// play answers for everyone who may answer, sometimes wrong.
func (e *arenaPlaythrough) play() {
	e.Helper()
	e.requireNoError(e.nodes[0].StartArena(e.Context(), e.plan.ID))
	for q := 0; ; q++ {
		for e.store.state(e.plan.ID).Phase != PhaseOver && e.store.state(e.plan.ID).Question < q {
			time.Sleep(5 * time.Millisecond)
		}
		if e.store.state(e.plan.ID).Phase == PhaseOver {
			break
		}
		e.oracle.openQuestion()
		e.answerQuestion(q)
		e.passUntil(e.plan, PhaseRevealed, q)
		e.oracle.closeQuestion(q)
	}
	time.Sleep(2100 * time.Millisecond) // two recovery rounds
	synctest.Wait()
}

func (e *arenaPlaythrough) answerQuestion(q int) {
	e.Helper()
	opens := e.store.state(e.plan.ID).OpensAt
	for _, i := range rand.Perm(len(e.in)) {
		time.Sleep(time.Duration(rand.N(20)) * time.Millisecond)
		player, right := e.plan.arenaSeat(i).Player, rand.N(5) > 0
		given := wrongAnswer(&e.plan.Questions[q])
		if right {
			given = rightAnswer(&e.plan.Questions[q])
		}
		reply, err := e.nodes[i%len(e.nodes)].answer(e.plan, player, q, given)
		if (err == nil) != e.oracle.canAnswer(player) && errorCode(err) != "question_closed" {
			e.Fatalf("%s: %v, %+v", player, err, e.oracle.players[player])
		}
		if err != nil {
			continue
		}
		e.oracle.answer(player, right, reply.At-opens)
		if e.plan.Mode == Buzzer && (*reply.Correct != right || *reply.First != right) {
			e.Fatalf("reply %+v to an answer that is right: %v", reply, right)
		}
		if e.plan.Mode == Buzzer && right {
			if e.firsts[q] != "" {
				e.Fatalf("%s and %s were first", e.firsts[q], player)
			}
			e.firsts[q] = player
		}
	}
}

// check checks that all sessions have the complete log and that the result
// agrees with the oracle.
func (e *arenaPlaythrough) check() {
	e.Helper()
	e.checkStepsAppliedOnce()
	var results []*Result
	for _, n := range e.nodes {
		results = append(results, n.results()...)
	}
	if len(results) != 1 {
		e.Fatalf("%d results", len(results))
	}
	for _, result := range results[0].Standings {
		t := e.oracle.players[result.Player]
		if result.Score != t.score || result.TimeMS != t.time || result.Asked != t.asked || result.Correct != t.correct || result.Rank != e.oracle.rank(result.Player) {
			e.Errorf("%+v, want %+v at rank %d", result, *t, e.oracle.rank(result.Player))
		}
	}
	if len(results[0].Standings) != len(e.in) || len(results[0].Firsts) != len(e.firsts) {
		e.Errorf("%d standings, %d firsts, want %d", len(results[0].Standings), len(results[0].Firsts), len(e.firsts))
	}
	for _, in := range e.in {
		e.checkComplete(e.plan, in, 0)
		e.checkPersonal(in)
	}
}

// checkPersonal checks that each player of a large match gets one personal
// result after each close. In a small match there must be none.
func (e *arenaPlaythrough) checkPersonal(session *frameRecorder) {
	e.Helper()
	closed, reported := -1, -1
	for _, received := range session.decodedFrames(e) {
		switch received.Type {
		case protocol.TypeQuestionClosed:
			closed = received.Data.Question
		case protocol.TypeOwn:
			if received.Data.Question != closed || reported == closed {
				e.Fatalf("personal result of question %d after the close of question %d and the personal result of question %d", received.Data.Question, closed, reported)
			}
			reported = closed
		}
	}
	if many := len(e.in) > FullListPlayers; many != (reported >= 0) || many && reported != closed {
		e.Errorf("%d personal results, %d closed questions", reported+1, closed+1)
	}
}

// Three nodes play a small and a large match while messages between the nodes
// are lost, repeated or delayed.
func TestArenaOnSeveralNodesSurvivesLostMessages(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	for name, route := range map[string]func(string) (int, time.Duration){
		"all messages arrive":  nil,
		"no message arrives":   func(string) (int, time.Duration) { return 0, 0 },
		"every second is lost": func(string) (int, time.Duration) { return int(sent.Add(1) % 2), 0 },
		"all arrive twice":     func(string) (int, time.Duration) { return 2, 0 },
		"all arrive late":      func(string) (int, time.Duration) { return 1, rand.N(300 * time.Millisecond) },
	} {
		for _, mode := range []Mode{Buzzer, Survival} {
			for _, players := range []int{5, 53} {
				t.Run(fmt.Sprint(name, ", ", mode, " of ", players), func(t *testing.T) {
					runInCluster(t, func(c *cluster) {
						c.bus.setRoute(route)
						run := c.startArenaPlaythrough(newArena(mode, 4, "red", "blue"), players, c.startNode(), c.startNode(), c.startNode())
						run.play()
						run.check()
					})
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
		for _, count := range []int64{1, 2} {
			t.Run(fmt.Sprint(method, count), func(t *testing.T) {
				runInCluster(t, func(c *cluster) {
					nodeA, nodeB := c.startNode(), c.startNode()
					plan := newArena(Buzzer, 1)
					early := c.createArenaWithPlayers(plan, 1, nodeA)
					var calls atomic.Int64
					nodeB.store.setFault(func(m, _ string) fault {
						if m == method && calls.Add(1) == count {
							c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
						}
						return noFault
					})
					late := c.addPlayer(plan, 1, nodeB)
					c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
					c.passUntil(plan, PhaseOver, 0)
					synctest.Wait()
					for _, in := range []*frameRecorder{early[0], late} {
						c.checkComplete(plan, in, 0)
						if n := in.countType(c, protocol.TypeMatchFound); n != 1 {
							c.Errorf("announced %d times", n)
						}
					}
				})
			})
		}
	}
}

// A spectator gets the pushes after joining and may request earlier ones.
func TestSpectatorGetsPushesAndReplay(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodeA, nodeB := c.startNode(), c.startNode()
		plan := newArena(Survival, 2)
		players := c.createArenaWithPlayers(plan, 2, nodeA)
		c.requireNoError(nodeA.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		c.store.addWatcher(plan.ID, "p_eve", SpectatorRole)
		session := nodeB.openSession("p_eve")
		c.requireNoError(nodeB.AttachFrom(c.Context(), plan.ID, "p_eve", 2))
		if _, err := nodeB.answer(plan, "p_eve", 0, rightAnswer(&plan.Questions[0])); errorCode(err) != "not_in_match" {
			c.Errorf("%v", err)
		}
		if nodeB.IsInMatch("demo", "p_eve") {
			c.Error("the spectator counts as playing")
		}
		c.passUntil(plan, PhaseRevealed, 0)
		time.Sleep(10 * time.Millisecond)
		c.checkComplete(plan, session, 2)
		var got protocol.MatchState
		c.requireNoError(nodeB.Attach(c.Context(), AttachRequest{
			Match: plan.ID, Player: "p_eve", Session: session, AfterSeq: 0, OnState: func(s protocol.MatchState) { got = s },
		}))
		if got.Own != (protocol.OwnScore{}) || len(got.Scores) != 2 || got.Phase != "revealed" {
			c.Errorf("%+v", got)
		}
		if err := nodeB.CheckSeat(c.Context(), plan.ID, "p_eve"); err == nil {
			c.Error("the spectator has a seat")
		}
		c.passUntil(plan, PhaseOver, 1)
		c.checkComplete(plan, players[0], 0)
	})
}

// A match in its lobby is not found, and none of its pushes precedes the
// announcement.
func TestArenaInLobbyIsNotFoundAsMatch(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := newArena(Buzzer, 1)
		in := c.createArenaWithPlayers(plan, 1, n)[0]
		player := plan.arenaSeat(0).Player
		err := n.Attach(c.Context(), AttachRequest{Match: plan.ID, Player: player, Session: in, OnState: func(protocol.MatchState) { c.Error("the state of the lobby was sent") }})
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
		if got := in.seqs(c); len(got) != 0 {
			c.Errorf("pushed %v", got)
		}
	})
}

func (n *node) hasNoLocalMatch(id string) bool { return n.findLocalMatch(id) == nil }

// Engine.Leave does nothing in an arena.
func TestLeaveDoesNothingInArena(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n := c.startNode()
		plan := newArena(Buzzer, 1)
		c.createArenaWithPlayers(plan, 2, n)
		c.requireNoError(n.StartArena(c.Context(), plan.ID))
		c.passUntil(plan, PhaseOpen, 0)
		c.requireNoError(n.Leave(c.Context(), plan.ID, plan.arenaSeat(0).Player))
		if state := c.store.state(plan.ID); state.Phase != PhaseOpen || state.EndReason != "" {
			c.Errorf("%+v", state)
		}
	})
}
