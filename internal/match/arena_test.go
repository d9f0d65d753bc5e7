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

// gather creates an arena and distributes its players over the nodes.
func (w *cluster) gather(p *Plan, players int, nodes ...*node) []*frameRecorder {
	w.Helper()
	if err := nodes[0].CreateArena(w.Context(), p); err != nil {
		w.Fatal(err)
	}
	in := make([]*frameRecorder, players)
	for i := range in {
		in[i] = w.join(p, i, nodes[i%len(nodes)])
	}
	return in
}

// join gives the i-th player a seat and a session at a node.
func (w *cluster) join(p *Plan, i int, n *node) *frameRecorder {
	w.Helper()
	seat := p.seatOf(i)
	if !w.store.addSeat(p.ID, seat) {
		w.Fatalf("no seat for %s", seat.Player)
	}
	in := n.enter(seat.Player)
	if err := n.AttachFrom(w.Context(), p.ID, seat.Player, 0); err != nil {
		w.Fatal(err)
	}
	n.NotifyPlacesChanged(p.ID)
	return in
}

func (w *cluster) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// arenaRun is a complete match of an arena, played by its players at their
// nodes. An oracle gets the same events.
type arenaRun struct {
	*cluster
	plan   *Plan
	nodes  []*node
	in     []*frameRecorder
	oracle *oracle
	firsts map[int]string
}

func (w *cluster) newArenaRun(p *Plan, players int, nodes ...*node) *arenaRun {
	e := &arenaRun{
		cluster: w, plan: p, nodes: nodes, in: w.gather(p, players, nodes...),
		oracle: newOracle(p.Mode, p.LimitMS), firsts: map[int]string{},
	}
	for i := range players {
		seat := p.seatOf(i)
		e.oracle.players[seat.Player] = &playerTotals{team: seat.Team}
	}
	return e
}

// play answers for everyone who may answer, sometimes wrong.
func (e *arenaRun) play() {
	e.Helper()
	e.must(e.nodes[0].StartArena(e.Context(), e.plan.ID))
	for q := 0; ; q++ {
		for e.store.state(e.plan.ID).Phase != Over && e.store.state(e.plan.ID).Question < q {
			time.Sleep(5 * time.Millisecond)
		}
		if e.store.state(e.plan.ID).Phase == Over {
			break
		}
		e.oracle.open()
		e.answers(q)
		e.passUntil(e.plan, Revealed, q)
		e.oracle.close(q)
	}
	time.Sleep(2100 * time.Millisecond) // two recovery rounds
	synctest.Wait()
}

func (e *arenaRun) answers(q int) {
	e.Helper()
	opens := e.store.state(e.plan.ID).OpensAt
	for _, i := range rand.Perm(len(e.in)) {
		time.Sleep(time.Duration(rand.N(20)) * time.Millisecond)
		player, right := e.plan.seatOf(i).Player, rand.N(5) > 0
		given := wrongAnswer(&e.plan.Questions[q])
		if right {
			given = rightAnswer(&e.plan.Questions[q])
		}
		reply, err := e.nodes[i%len(e.nodes)].answer(e.plan, player, q, given)
		if (err == nil) != e.oracle.canAnswer(player) && codeOf(err) != "question_closed" {
			e.Fatalf("%s: %v, %+v", player, err, e.oracle.players[player])
		}
		if err != nil {
			continue
		}
		e.oracle.answer(player, right, reply.At-opens)
		if e.plan.Mode == Buzzer && (*reply.Correct != right || *reply.First != right) {
			e.Fatalf("%+v to %v", reply, right)
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
func (e *arenaRun) check() {
	e.Helper()
	e.checkStepsAppliedOnce()
	var results []*Result
	for _, n := range e.nodes {
		results = append(results, n.results()...)
	}
	if len(results) != 1 {
		e.Fatalf("%d results", len(results))
	}
	for _, s := range results[0].Standings {
		t := e.oracle.players[s.Player]
		if s.Score != t.score || s.TimeMS != t.time || s.Asked != t.asked || s.Correct != t.correct || s.Rank != e.oracle.rank(s.Player) {
			e.Errorf("%+v, want %+v at rank %d", s, *t, e.oracle.rank(s.Player))
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
func (e *arenaRun) checkPersonal(in *frameRecorder) {
	e.Helper()
	closed, reported := -1, -1
	for _, f := range in.read(e) {
		switch f.Type {
		case protocol.TypeQuestionClosed:
			closed = f.Data.Question
		case protocol.TypeOwn:
			if f.Data.Question != closed || reported == closed {
				e.Fatalf("own of %d after the close of %d and own of %d", f.Data.Question, closed, reported)
			}
			reported = closed
		}
	}
	if many := len(e.in) > FullView; many != (reported >= 0) || many && reported != closed {
		e.Errorf("told own of %d, %d were closed", reported+1, closed+1)
	}
}

// Three nodes play a small and a large match while messages between the nodes
// are lost, repeated or delayed.
func TestAnArenaOnManyNodes(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	for name, route := range map[string]func(string) (int, time.Duration){
		"all comes":            nil,
		"nothing comes":        func(string) (int, time.Duration) { return 0, 0 },
		"every second is lost": func(string) (int, time.Duration) { return int(sent.Add(1) % 2), 0 },
		"all comes twice":      func(string) (int, time.Duration) { return 2, 0 },
		"all comes late":       func(string) (int, time.Duration) { return 1, rand.N(300 * time.Millisecond) },
	} {
		for _, mode := range []Mode{Buzzer, Survival} {
			for _, players := range []int{5, 53} {
				t.Run(fmt.Sprint(name, ", ", mode, " of ", players), func(t *testing.T) {
					inBubble(t, func(w *cluster) {
						w.bus.set(route)
						e := w.newArenaRun(newArena(mode, 4, "red", "blue"), players, w.node(), w.node(), w.node())
						e.play()
						e.check()
					})
				})
			}
		}
	}
}

// The first push of a match is its announcement. That also holds for a player
// who joins in the last moment, before or after the start.
func TestJoiningInTheLastMoment(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"Member", "Read", "never"} {
		for _, count := range []int64{1, 2} {
			t.Run(fmt.Sprint(method, count), func(t *testing.T) {
				inBubble(t, func(w *cluster) {
					a, b := w.node(), w.node()
					p := newArena(Buzzer, 1)
					early := w.gather(p, 1, a)
					var calls atomic.Int64
					b.link.set(func(m, _ string) fault {
						if m == method && calls.Add(1) == count {
							w.must(a.StartArena(w.Context(), p.ID))
						}
						return works
					})
					late := w.join(p, 1, b)
					w.must(a.StartArena(w.Context(), p.ID))
					w.passUntil(p, Over, 0)
					synctest.Wait()
					for _, in := range []*frameRecorder{early[0], late} {
						w.checkComplete(p, in, 0)
						if n := in.count(w, protocol.TypeMatchFound); n != 1 {
							w.Errorf("announced %d times", n)
						}
					}
				})
			})
		}
	}
}

// A spectator gets the pushes after joining and may request earlier ones.
func TestASpectator(t *testing.T) {
	inBubble(t, func(w *cluster) {
		a, b := w.node(), w.node()
		p := newArena(Survival, 2)
		players := w.gather(p, 2, a)
		w.must(a.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		w.store.addWatcher(p.ID, "p_eve", AsSpectator)
		in := b.enter("p_eve")
		w.must(b.AttachFrom(w.Context(), p.ID, "p_eve", 2))
		if _, err := b.answer(p, "p_eve", 0, rightAnswer(&p.Questions[0])); codeOf(err) != "not_in_match" {
			w.Errorf("%v", err)
		}
		if b.IsInMatch("demo", "p_eve") {
			w.Error("who watches has a seat")
		}
		w.passUntil(p, Revealed, 0)
		time.Sleep(10 * time.Millisecond)
		w.checkComplete(p, in, 2)
		var got protocol.MatchState
		w.must(b.Attach(w.Context(), Attachment{
			Match: p.ID, Player: "p_eve", Sub: in, After: 0, OnState: func(s protocol.MatchState) { got = s },
		}))
		if got.Own != (protocol.OwnScore{}) || len(got.Scores) != 2 || got.Phase != "revealed" {
			w.Errorf("%+v", got)
		}
		if err := b.CheckSeat(w.Context(), p.ID, "p_eve"); err == nil {
			w.Error("who watches sits")
		}
		w.passUntil(p, Over, 1)
		w.checkComplete(p, players[0], 0)
	})
}

// A match in its lobby is not found, and none of its pushes precedes the
// announcement.
func TestNoMatchInTheLobby(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := newArena(Buzzer, 1)
		in := w.gather(p, 1, n)[0]
		player := p.seatOf(0).Player
		err := n.Attach(w.Context(), Attachment{Match: p.ID, Player: player, Sub: in, OnState: func(protocol.MatchState) { w.Error("told") }})
		if err != ErrNotFound { //nolint:errorlint // it is not wrapped
			w.Errorf("%v", err)
		}
		if n.IsInMatch("demo", player) || n.lacksMatch(p.ID) {
			w.Error("seated in the lobby, or gone")
		}
		r, err := n.Status(w.Context(), p.ID)
		if err != nil || r != (Status{ArenaID: "a_1", Running: true}) {
			w.Errorf("%+v, %v", r, err)
		}
		if got := in.seqs(w); len(got) != 0 {
			w.Errorf("pushed %v", got)
		}
	})
}

func (n *node) lacksMatch(id string) bool { return n.findLocal(id) == nil }

// Engine.Leave does nothing in an arena.
func TestNobodyForfeitsAnArenaThatRuns(t *testing.T) {
	inBubble(t, func(w *cluster) {
		n := w.node()
		p := newArena(Buzzer, 1)
		w.gather(p, 2, n)
		w.must(n.StartArena(w.Context(), p.ID))
		w.passUntil(p, Open, 0)
		w.must(n.Leave(w.Context(), p.ID, p.seatOf(0).Player))
		if s := w.store.state(p.ID); s.Phase != Open || s.EndReason != "" {
			w.Errorf("%+v", s)
		}
	})
}
