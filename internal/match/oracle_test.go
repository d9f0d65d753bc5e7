package match

import (
	"cmp"
	"slices"
)

// oracle computes a match from its events as the wire contract describes: who
// answered what and when, and which questions closed. It uses no code of the
// engine.
type oracle struct {
	mode            Mode
	plan            *Plan // its limits, multipliers and scoring
	question        int   // the open question
	players         map[string]*playerTotals
	answers         map[string]givenAnswer // answers to the open question
	closedQuestions int                    // questions closed and not void
	firstPlayer     string                 // the player who won the buzzer question
	lastPoints      map[string]int64       // points of the last closed question, by player
}

// playerTotals are the totals of one player by the contract.
type playerTotals struct {
	team                              string
	score, timeMS                     int64
	correct, answered, askedQuestions int
	survivedQuestions                 int   // questions up to the last one survived
	rightInRow                        int64 // right answers in a row up to the last question
	eliminated, hasLeft               bool
	extraPercent                      int64
}

// givenAnswer is an accepted answer.
type givenAnswer struct {
	right     bool
	elapsedMS int64
}

// expectedResult is the effect of a question on one player.
type expectedResult struct {
	givenAnswer
	answered, eliminated bool
	points               int64
}

func newOracle(plan *Plan) *oracle {
	return &oracle{mode: plan.Mode, plan: plan, players: map[string]*playerTotals{}}
}

// limitMS is the time limit of the open question.
func (o *oracle) limitMS() int64 {
	if len(o.plan.LimitsMS) > 0 {
		return o.plan.LimitsMS[o.question]
	}
	return o.plan.LimitMS
}

// openQuestion clears the answers to the previous question.
func (o *oracle) openQuestion(question int) {
	o.question, o.answers, o.firstPlayer = question, map[string]givenAnswer{}, ""
}

// canAnswer reports whether a player may answer the open question.
func (o *oracle) canAnswer(player string) bool {
	t := o.players[player]
	_, hasAnswered := o.answers[player]
	return t != nil && !t.eliminated && !t.hasLeft && !hasAnswered
}

// ownClose is when a question that closes at closesAt closes for a player.
func (o *oracle) ownClose(player string, closesAt int64) int64 {
	if t := o.players[player]; t != nil {
		return closesAt + o.limitMS()*t.extraPercent/100
	}
	return closesAt
}

func (o *oracle) recordAnswer(player string, right bool, elapsedMS int64) {
	if elapsedMS < -50 { // the clock is behind
		elapsedMS = o.limitMS()
	} else {
		elapsedMS = elapsedMS * 100 / (100 + o.players[player].extraPercent)
	}
	o.answers[player] = givenAnswer{right, max(elapsedMS, 0)}
	if right && o.mode == Buzzer {
		o.firstPlayer = player
	}
}

// askedPlayers lists the players who are asked the open question, also those who left.
func (o *oracle) askedPlayers() []string {
	var asked []string
	for player, t := range o.players {
		if !t.eliminated {
			asked = append(asked, player)
		}
	}
	return asked
}

// leave removes a player. In survival an unrevealed answer is removed, too.
func (o *oracle) leave(player string) {
	o.players[player].hasLeft = true
	if o.mode == Survival {
		delete(o.answers, player)
	}
}

// haveAllAnswered reports whether everyone who may answer has answered.
func (o *oracle) haveAllAnswered() bool {
	for _, player := range o.askedPlayers() {
		if o.canAnswer(player) {
			return false
		}
	}
	return true
}

// points returns the points of an answer by the contract; t is its player before it.
func (o *oracle) points(t *playerTotals, answer givenAnswer, answered bool) int64 {
	limit := o.limitMS()
	bySpeed := 100 * (limit - min(answer.elapsedMS, limit)) / limit
	switch {
	case o.mode == Race && answered:
		return o.racePoints(t, answer)
	case !answer.right:
		return 0
	case o.mode == Buzzer:
		return 100
	}
	return 100 + bySpeed
}

// racePoints returns the points of an answer with the scoring of the host.
func (o *oracle) racePoints(t *playerTotals, answer givenAnswer) int64 {
	scoring, factor, limit := o.plan.Scoring, int64(1), o.limitMS()
	if o.plan.Multipliers != nil {
		factor = o.plan.Multipliers[o.question]
	}
	if !answer.right {
		return -min(t.score, scoring.Penalty*factor)
	}
	points := scoring.Points + scoring.Streak*min(t.rightInRow, 5)
	if scoring.Preset == "speed" {
		points += scoring.Points * (limit - min(answer.elapsedMS, limit)) / limit
	}
	return points * factor
}

// closeQuestion closes the open question and returns its effect on the players who were
// asked. In survival it leaves out those who left.
func (o *oracle) closeQuestion(question int) (results map[string]expectedResult, isVoid bool) {
	isVoid = o.mode == Survival
	for _, answer := range o.answers {
		isVoid = isVoid && !answer.right
	}
	results, o.lastPoints = map[string]expectedResult{}, map[string]int64{}
	for _, player := range o.askedPlayers() {
		answer, answered := o.answers[player]
		result := expectedResult{givenAnswer: answer, answered: answered, points: o.points(o.players[player], answer, answered), eliminated: o.mode == Survival && !answer.right && !isVoid}
		o.lastPoints[player] = result.points
		if o.mode != Survival || !o.players[player].hasLeft {
			results[player] = result
		}
		if !isVoid {
			o.players[player].addResult(result, question, o.limitMS())
		}
	}
	if !isVoid {
		o.closedQuestions++
	}
	return results, isVoid
}

func (t *playerTotals) addResult(result expectedResult, question int, limitMS int64) {
	t.askedQuestions++
	t.score += result.points
	t.eliminated = result.eliminated
	if result.answered {
		t.answered++
	}
	if !result.right {
		t.timeMS += limitMS
		t.rightInRow = 0
		return
	}
	t.rightInRow++
	t.correct++
	t.timeMS += min(result.elapsedMS, limitMS)
	t.survivedQuestions = question + 1
}

// compare orders two players by the contract, the better one first.
func (o *oracle) compare(a, b string) int {
	totalsA, totalsB := o.players[a], o.players[b]
	switch {
	case totalsA.hasLeft && !totalsB.hasLeft:
		return 1
	case totalsB.hasLeft && !totalsA.hasLeft:
		return -1
	}
	if o.mode == Survival {
		return cmp.Or(cmp.Compare(totalsB.survivedQuestions, totalsA.survivedQuestions), cmp.Compare(totalsA.timeMS, totalsB.timeMS))
	}
	return cmp.Or(cmp.Compare(totalsB.score, totalsA.score), cmp.Compare(totalsA.timeMS, totalsB.timeMS))
}

// rank is 1 plus the number of better players.
func (o *oracle) rank(player string) int {
	rank := 1
	for other := range o.players {
		if o.compare(other, player) < 0 {
			rank++
		}
	}
	return rank
}

// gap is how many points the player of a race is behind the next higher score.
func (o *oracle) gap(player string) int64 {
	gap := int64(0)
	for _, other := range o.players {
		if d := other.score - o.players[player].score; o.mode == Race && !other.hasLeft && d > 0 && (gap == 0 || d < gap) {
			gap = d
		}
	}
	return gap
}

// countRemaining counts the players who are still in.
func (o *oracle) countRemaining() (n int) {
	for _, t := range o.players {
		if !t.eliminated && !t.hasLeft {
			n++
		}
	}
	return n
}

// winner returns the only one at rank 1: the team in a buzzer match or race with
// teams, else the player.
func (o *oracle) winner(teams []Team) string {
	bestAlone := func(n int, score func(i int) int64, id func(i int) string) string {
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(score(b), score(a)) })
		if n == 0 || n > 1 && score(order[0]) == score(order[1]) {
			return ""
		}
		return id(order[0])
	}
	if (o.mode == Buzzer || o.mode == Race) && len(teams) > 0 {
		return bestAlone(len(teams), func(i int) int64 { return o.teamScore(teams[i].ID) }, func(i int) string { return teams[i].ID })
	}
	var players []string
	for player := range o.players {
		players = append(players, player)
	}
	return bestAlone(len(players), func(i int) int64 { return -int64(o.rank(players[i])) }, func(i int) string { return players[i] })
}

// teamScore returns a team's score: in a buzzer match one point per first.
func (o *oracle) teamScore(id string) (score int64) {
	for _, t := range o.players {
		switch {
		case t.team != id:
		case o.mode == Buzzer:
			score += t.score / 100
		default:
			score += t.score
		}
	}
	return score
}
