package arena

import (
	"cmp"
	"slices"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

// Limits of the scoring of a race. With them, a score stays below 1,000,000, which the
// ranking of the store needs.
const (
	maxPoints     = 1000
	maxPenalty    = 1000
	maxStreak     = 200
	maxMultiplier = 2
)

// The values of late_join in the wire contract.
const (
	lateJoinNo   = "no"
	lateJoinZero = "zero" // players may join during the match and begin with 0 points
)

// The range of the time to answer a question.
const (
	minLimitMS = 1000
	maxLimitMS = 600_000
)

// checkRace refuses invalid settings of a race, and those settings in another mode.
func checkRace(body protocol.NewArena) error {
	isRace := body.Mode == string(match.Race)
	switch {
	case body.Scoring != nil && !isRace:
		return badRequestError("scoring is for mode race; leave it out")
	case !slices.Contains([]string{"", lateJoinNo, lateJoinZero}, body.LateJoin):
		return badRequestError("late_join is invalid; use no or zero")
	case body.LateJoin == lateJoinZero && !isRace:
		return badRequestError("late_join zero is for mode race; use no, or leave it out")
	}
	for i, item := range body.Questions.Items {
		switch {
		case !isLimit(item.TimeLimitMS):
			return badRequestError("questions.items[%d].time_limit_ms is out of range; use %d to %d, or leave it out", i, minLimitMS, maxLimitMS)
		case item.Points != nil && !isRace:
			return badRequestError("questions.items[%d].points is for mode race; leave it out", i)
		case item.Points != nil && (*item.Points < 0 || *item.Points > maxMultiplier):
			return badRequestError("questions.items[%d].points is out of range; use 0, 1 or 2", i)
		}
	}
	if body.Scoring != nil {
		return checkScoring(*body.Scoring)
	}
	return nil
}

// isLimit reports whether a time limit is absent or in range.
func isLimit(limit *int64) bool {
	return limit == nil || *limit >= minLimitMS && *limit <= maxLimitMS
}

func checkScoring(scoring protocol.NewScoring) error {
	inRange := func(n *int64, low, high int64) bool { return n == nil || *n >= low && *n <= high }
	switch {
	case scoring.Preset != quiz.Speed && scoring.Preset != quiz.Accuracy:
		return badRequestError("scoring.preset is invalid; use speed or accuracy")
	case !inRange(scoring.Points, 1, maxPoints):
		return badRequestError("scoring.points is out of range; use 1 to %d, or leave it out for %d", maxPoints, quiz.DefaultScoring.Points)
	case !inRange(&scoring.Penalty, 0, maxPenalty):
		return badRequestError("scoring.penalty is out of range; use 0 to %d", maxPenalty)
	case !inRange(&scoring.Streak, 0, maxStreak):
		return badRequestError("scoring.streak is out of range; use 0 to %d", maxStreak)
	}
	return nil
}

// addScoring sets the scoring of a plan, and the settings of its questions.
func addScoring(plan *match.Plan, body protocol.NewArena) {
	plan.ReadingMS = body.ReadingMS
	if s := body.Scoring; s != nil {
		plan.Scoring = &quiz.Scoring{Preset: s.Preset, Points: *cmp.Or(s.Points, &quiz.DefaultScoring.Points), Penalty: s.Penalty, Streak: s.Streak, Partial: s.Partial}
	}
	one := int64(1)
	for _, item := range body.Questions.Items {
		plan.LimitsMS = append(plan.LimitsMS, *cmp.Or(item.TimeLimitMS, &plan.LimitMS))
		plan.Multipliers = append(plan.Multipliers, *cmp.Or(item.Points, &one))
	}
}
