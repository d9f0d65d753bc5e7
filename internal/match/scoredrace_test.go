package match

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// startArena plays an arena with some players up to the opening of its first question.
func (c *cluster) startArena(plan *Plan, players int, nodes ...*node) []*frameRecorder {
	c.Helper()
	sessions := c.createArenaWithPlayers(plan, players, nodes...)
	c.requireNoError(nodes[0].StartArena(c.Context(), plan.ID))
	c.passUntil(plan, PhaseOpen, 0)
	return sessions
}

// Points, streaks, penalties, teams and ranks of a race over two nodes.
func TestRaceIsWonByPoints(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		nodes := []*node{c.startNode(), c.startNode()}
		plan := newArena(Race, 3, "red", "blue")
		plan.Scoring = &quiz.Scoring{Preset: quiz.Accuracy, Points: 50, Penalty: 30, Streak: 10}
		plan.Multipliers, plan.LimitsMS = []int64{1, 2, 1}, []int64{10_000, 5000, 10_000}
		sessions := c.startArena(plan, 2, nodes...)
		found := sessions[0].lastOfType(c, "match.found").Data
		if found.Scoring != (protocol.Scoring{Preset: "accuracy", Points: 50, Penalty: 30, Streak: 10}) {
			c.Errorf("%+v", found.Scoring)
		}
		for question, wantScores := range [][2]int64{{50, 0}, {170, 0}, {140, 50}} {
			c.passUntil(plan, PhaseOpen, question)
			asked := sessions[1].lastOfType(c, "question").Data
			if asked.ClosesAt-asked.OpensAt != plan.LimitsMS[question] || asked.Points != plan.Multipliers[question] || asked.MaxPoints != 100*plan.Multipliers[question] {
				c.Errorf("question %d: %+v", question, asked)
			}
			for i, n := range nodes {
				given := rightAnswer(&plan.Questions[question])
				if (i == 0) == (question == 2) { // the second player is right only at the end, the first until then
					given = wrongAnswer(&plan.Questions[question])
				}
				n.mustAnswer(plan, plan.arenaSeat(i).Player, question, given)
			}
			c.passUntil(plan, PhaseRevealed, question)
			closed := sessions[1].lastOfType(c, "question.closed").Data
			for _, result := range closed.Results {
				if want := wantScores[slices.Index([]string{"p_000", "p_001"}, result.Player)]; result.Score != want {
					c.Errorf("question %d: %s has %d, want %d", question, result.Player, result.Score, want)
				}
			}
			if want := (protocol.TeamStanding{Rank: 1, ID: "red", Score: wantScores[0]}); closed.Teams[0] != want {
				c.Errorf("question %d: %+v", question, closed.Teams)
			}
		}
		c.passUntil(plan, PhaseOver, 2)
		if over := sessions[0].lastOfType(c, "match.over").Data; over.Winner != "red" || over.Standings[0].Score != 140 || over.Standings[1].TimeMS < 10_000+5000 || over.Standings[1].TimeMS > 10_000+5000+200 {
			c.Errorf("%+v", over)
		}
		c.checkWholeLog(plan, sessions[1])
	})
}

// During the reading time an answer is refused. Its time counts from the end of it.
func TestReadingTimeComesBeforeTheAnswers(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan := c.startNode(), newArena(Race, 1)
		plan.ReadingMS = 3000
		session := c.startArena(plan, 1, n)[0]
		asked := session.lastOfType(c, "question").Data
		if asked.ReadsUntil == nil || *asked.ReadsUntil != asked.OpensAt+3000 || asked.ClosesAt != asked.OpensAt+13_000 {
			c.Fatalf("%+v", asked)
		}
		var refused *protocol.Error
		time.Sleep(2 * time.Second)
		if _, err := n.answer(plan, "p_000", 0, rightAnswer(&plan.Questions[0])); !errors.As(err, &refused) || refused.Code != protocol.CodeQuestionNotOpen {
			c.Errorf("while reading: %v", err)
		}
		time.Sleep(3 * time.Second)
		reply, err := n.answer(plan, "p_000", 0, rightAnswer(&plan.Questions[0]))
		if want := now() - *asked.ReadsUntil; err != nil || reply.ElapsedMS != want {
			c.Errorf("%+v, %v, want %d ms", reply, err, want)
		}
		c.passUntil(plan, PhaseOver, 0)
	})
}

// A reveal shows the most frequent texts, without those that the game refuses.
func TestRevealLeavesOutRefusedTexts(t *testing.T) {
	runInCluster(t, func(c *cluster) {
		n, plan := c.startNode(), newArena(Race, 5)
		plan.Questions = plan.Questions[4:] // a text
		n.RefusesText = func(game, text string) bool { return game == plan.Game && text == "swearword" }
		session := c.startArena(plan, 9, n)[0]
		for i, text := range []string{"swearword", "swearword", "swearword", "Lovelace", "lovelace", "b", "c", "d", "e"} {
			n.mustAnswer(plan, plan.arenaSeat(i).Player, 0, protocol.Given{Value: fmt.Appendf(nil, "%q", text)})
		}
		c.passUntil(plan, PhaseRevealed, 0)
		top := session.lastOfType(c, "question.closed").Data.Top
		if len(top) != maxTop || top[0] != (protocol.ValueCount{Value: "lovelace", N: 2}) || slices.ContainsFunc(top, func(shown protocol.ValueCount) bool { return shown.Value == "swearword" }) {
			c.Errorf("%+v", top)
		}
	})
}
