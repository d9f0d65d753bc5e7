package redismatch

import (
	"reflect"
	"testing"

	"laststand/internal/match"
)

// listedPlayers returns the listed players in order.
func (m *testMatch) listedPlayers() []string {
	m.Helper()
	view := m.read()
	var players []string
	for _, seat := range view.Seats {
		players = append(players, seat.Player)
		if _, ok := view.Totals[seat.Player]; !ok {
			m.Errorf("no totals of %s", seat.Player)
		}
	}
	return players
}

// In a large match the best players are listed. The reveal of a survival match
// orders those who came furthest by score; afterwards the order is by rank.
func TestLargeMatchListsBestPlayers(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		players := playerIDs(51)
		m.addSeats(players...)
		if n := len(m.listedPlayers()); n != match.ShortListPlayers {
			m.Errorf("%d are shown in the lobby", n)
		}
		open := m.startArena()
		highScore, lowTime := m.attempt(open, "p_0007", 50), m.attempt(open, "p_0008", 10)
		highScore.Record.Points, lowTime.Record.Points = 200, 199 // an order that no rule produces
		m.commit(highScore, match.VerdictAccepted)
		m.commit(lowTime, match.VerdictAccepted)
		m.commit(wrongAnswer(m.attempt(open, "p_0009", 1)), match.VerdictAccepted)
		checkBestTwo := func(want ...string) {
			m.Helper()
			if got := m.listedPlayers(); len(got) != match.ShortListPlayers || !reflect.DeepEqual(got[:2], want) {
				m.Errorf("%v", got)
			}
		}
		checkBestTwo("p_0007", "p_0008")
		if view := m.read(); view.Records["p_0008"].Points != 199 || len(view.Records) != 2 || view.Teams["red"].Players != 26 {
			m.Errorf("%+v, %v", view.Records, view.Teams)
		}
		m.applyStep(match.PhaseSealed, 0)
		checkBestTwo("p_0007", "p_0008")
		revealed := m.applyStep(match.PhaseRevealed, 0)
		checkBestTwo("p_0008", "p_0007")
		ending := m.step(revealed, match.PhaseOpen, 1)
		ending.NewState.EndReason = match.ReasonClosed
		m.apply(ending)
		checkBestTwo("p_0008", "p_0007")
	})
}

func TestSmallMatchListsAllPlayers(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		open := m.startArena(playerIDs(50)...)
		m.commitIfFirst(m.firstAttempt(open, "p_0042", 10), match.VerdictAccepted)
		if got := m.listedPlayers(); len(got) != 50 || got[0] != "p_0042" {
			m.Errorf("%v", got)
		}
		view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Players: []string{"p_0001"}, AfterSeq: -1})
		if err != nil || len(view.Seats) != 0 || view.Teams != nil || view.Ranks != nil || view.Firsts != nil || len(view.Totals) != 1 || view.Plan != nil {
			m.Errorf("%+v, %v", view, err)
		}
	})
}

// Equal players share a rank. A player without a seat has none.
func TestEqualPlayersShareRank(t *testing.T) {
	runArenaOnEachRedis(t, match.Survival, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd", "p_dan")
		m.commit(m.attempt(open, "p_cyd", 10), match.VerdictAccepted)
		m.commit(m.attempt(open, "p_ada", 20), match.VerdictAccepted)
		m.commit(m.attempt(open, "p_bob", 20), match.VerdictAccepted)
		view, err := m.Read(m.Context(), match.ReadQuery{
			Match: m.plan.ID, Players: []string{"p_ada", "p_eve", "p_bob", "p_cyd", "p_dan"}, WantRanks: true, AfterSeq: -1,
		})
		want := map[string]int64{"p_cyd": 1, "p_ada": 2, "p_bob": 2, "p_dan": 4}
		if err != nil || !reflect.DeepEqual(view.Ranks, want) {
			m.Errorf("%v, %v", view.Ranks, err)
		}
	})
}

// The scores of a reveal are kept until the next one.
func TestScoresOfRevealAreStored(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		if open := m.startArena("p_ada", "p_bob"); m.read().Scores != nil {
			m.Errorf("%s at %+v", m.read().Scores, open)
		}
		m.applyStep(match.PhaseSealed, 0)
		reveal := m.step(m.read().State, match.PhaseRevealed, 0)
		reveal.Scores = []byte(`[{"player":"p_ada"}]`)
		m.apply(reveal)
		for range 2 {
			if got := string(m.read().Scores); got != `[{"player":"p_ada"}]` {
				m.Errorf("%s", got)
			}
			m.applyStep(match.PhaseOpen, m.read().Question+1)
		}
	})
}

// A node that reads a match for a session is among its nodes from then on, also
// in the replies to steps and answers.
func TestReadAddsNode(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		for _, node := range []string{"n_1", "n_1", "n_2", ""} {
			view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Node: node, AfterSeq: -1})
			if err != nil || node == "n_2" && len(view.Nodes) != 2 {
				m.Errorf("%v, %v", view.Nodes, err)
			}
		}
		result, err := m.Step(m.Context(), m.step(m.read().State, match.PhaseOpen, 0))
		if err != nil || len(result.Nodes) != 2 {
			m.Errorf("%+v, %v", result, err)
		}
		if nodes, err := m.Nodes(m.Context(), m.plan.ID, "m_none"); err != nil || len(nodes[m.plan.ID]) != 2 || len(nodes["m_none"]) != 0 {
			m.Errorf("%v, %v", nodes, err)
		}
	})
}
