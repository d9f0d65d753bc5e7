package redismatch

import (
	"maps"
	"math/rand/v2"
	"testing"

	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/quiz"
)

// The store adds the points for a streak, keeps scores at 0 or more, and ranks by score and
// saved time, as quiz.Scoring and the record of each answer say.
func TestRaceScoresEqualThePureRules(t *testing.T) {
	runArenaOnEachRedis(t, match.Race, func(m *testMatch) {
		const questions = 12
		random := rand.New(rand.NewPCG(22, 3))
		players := []string{"p_ada", "p_bob", "p_cyd", "p_dan"}
		m.addSeats(players...)
		scores, lastRight := map[string]quiz.PlayerScore{}, map[string]int{}
		saved, teams := map[string]int64{}, map[string]int64{}
		open := m.startArena()
		for question := range questions {
			for i, player := range players {
				if random.IntN(6) == 0 {
					continue // silent, which ends a streak
				}
				attempt := inTeam([]match.Team{red, blue}[i%2], m.attempt(open, player, int64(random.IntN(9000))))
				attempt.Record.Points, attempt.Streak = random.Int64N(200), random.Int64N(50)
				if random.IntN(3) == 0 {
					attempt = wrongAnswer(attempt)
					attempt.Record.Points = -random.Int64N(200)
				}
				m.commit(attempt, match.VerdictAccepted)
				m.commit(attempt, match.VerdictAccepted) // the client library may repeat a script

				hasStreak := lastRight[player] == question
				current, points := quiz.Scoring{Streak: attempt.Streak}.Add(scores[player], attempt.Record.Points, attempt.Record.Correct, hasStreak, 1)
				scores[player], saved[player] = current, saved[player]+attempt.Record.SavedMS
				teams[attempt.Seat.Team] += points
				if attempt.Record.Correct {
					lastRight[player] = question + 1
				}
				if record, _, err := m.Record(m.Context(), m.plan.ID, player, question); err != nil || record.Points != points {
					m.Errorf("question %d of %s: %+v, %v, want %d points", question, player, record, err, points)
				}
			}
			m.checkRace(players, scores, saved, teams)
			if question+1 < questions {
				open = m.openNextQuestion()
			}
		}
		m.checkLog()
	})
}

// checkRace compares totals, ranks and team scores with those that a test has computed.
func (m *testMatch) checkRace(players []string, scores map[string]quiz.PlayerScore, saved, teams map[string]int64) {
	m.Helper()
	view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, Players: players, WantListed: true, WantRanks: true})
	if err != nil {
		m.Fatal(err)
	}
	for _, player := range players {
		if t := view.Totals[player]; t.Score != scores[player].Score || t.SavedMS != saved[player] {
			m.Errorf("%s has %+v, want %+v and %d ms saved", player, t, scores[player], saved[player])
		}
		rank := int64(1)
		for _, other := range players {
			if a, b := scores[other].Score, scores[player].Score; a > b || a == b && saved[other] > saved[player] {
				rank++
			}
		}
		if view.Ranks[player] != rank {
			m.Errorf("%s has rank %d, want %d", player, view.Ranks[player], rank)
		}
	}
	for team, score := range teams {
		if view.Teams[team].Score != score {
			m.Errorf("team %s has %d, want %d", team, view.Teams[team].Score, score)
		}
	}
}

// A player who leaves a race ranks behind all who stay, and the question does not wait.
func TestLeaverOfARaceRanksLast(t *testing.T) {
	runArenaOnEachRedis(t, match.Race, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob")
		m.commit(m.attempt(open, "p_ada", 10), match.VerdictAccepted)
		m.removePlace("p_ada", arena.VerdictLeft)
		if view := m.read(); view.Totals["p_ada"].Score != 190 || !view.Totals["p_ada"].HasLeft || view.Ranks["p_ada"] != 2 || view.Ranks["p_bob"] != 1 || view.Alive != 2 || len(view.Gaps) != 0 {
			m.Errorf("%+v, ranks %v, %d may answer", view.Totals, view.Ranks, view.Alive)
		}
	})
}

// A player of a race learns the distance to the next higher score, also with no points.
func TestDistanceToTheNextScoreOfARace(t *testing.T) {
	runArenaOnEachRedis(t, match.Race, func(m *testMatch) {
		open := m.startArena("p_ada", "p_bob", "p_cyd", "p_dan", "p_eve")
		for player, points := range map[string]int64{"p_ada": 180, "p_bob": 150, "p_cyd": 150, "p_dan": 0} {
			attempt := m.attempt(open, player, 100)
			attempt.Record.Points, attempt.Record.Correct = points, points > 0
			m.commit(attempt, match.VerdictAccepted)
		}
		m.applyStep(match.PhaseRevealed, 0)
		view, err := m.Read(m.Context(), match.ReadQuery{
			Match: m.plan.ID, Players: []string{"p_ada", "p_bob", "p_cyd", "p_dan", "p_eve"}, WantRanks: true, AfterSeq: -1,
		})
		want := map[string]int64{"p_bob": 30, "p_cyd": 30, "p_dan": 150, "p_eve": 150}
		if err != nil || !maps.Equal(view.Gaps, want) {
			m.Errorf("distances %v, want %v; ranks %v, %v", view.Gaps, want, view.Ranks, err)
		}
	})
}
