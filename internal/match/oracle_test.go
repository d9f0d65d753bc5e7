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
	limitMS         int64
	players         map[string]*playerTotals
	answers         map[string]givenAnswer // answers to the open question
	closedQuestions int                    // questions closed and not void
	firstPlayer     string                 // the player who won the buzzer question
}

// playerTotals are the totals of one player by the contract.
type playerTotals struct {
	team                              string
	score, timeMS                     int64
	correct, answered, askedQuestions int
	survivedQuestions                 int // questions up to the last one survived
	eliminated, hasLeft               bool
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

func newOracle(mode Mode, limitMS int64) *oracle {
	return &oracle{mode: mode, limitMS: limitMS, players: map[string]*playerTotals{}}
}

// openQuestion clears the answers to the previous question.
func (o *oracle) openQuestion() { o.answers, o.firstPlayer = map[string]givenAnswer{}, "" }

// canAnswer reports whether a player may answer the open question.
func (o *oracle) canAnswer(player string) bool {
	t := o.players[player]
	_, hasAnswered := o.answers[player]
	return t != nil && !t.eliminated && !t.hasLeft && !hasAnswered
}

func (o *oracle) recordAnswer(player string, right bool, elapsedMS int64) {
	if elapsedMS < -50 { // the clock is behind
		elapsedMS = o.limitMS
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

func (o *oracle) points(answer givenAnswer) int64 {
	switch {
	case !answer.right:
		return 0
	case o.mode == Buzzer:
		return 100
	}
	elapsedMS := min(answer.elapsedMS, o.limitMS)
	return 100 + 100*(o.limitMS-elapsedMS)/o.limitMS
}

// closeQuestion closes the open question and returns its effect on the players who were
// asked. In survival it leaves out those who left.
func (o *oracle) closeQuestion(question int) (results map[string]expectedResult, isVoid bool) {
	isVoid = o.mode == Survival
	for _, answer := range o.answers {
		isVoid = isVoid && !answer.right
	}
	results = map[string]expectedResult{}
	for _, player := range o.askedPlayers() {
		answer, answered := o.answers[player]
		result := expectedResult{givenAnswer: answer, answered: answered, points: o.points(answer), eliminated: o.mode == Survival && !answer.right && !isVoid}
		if o.mode != Survival || !o.players[player].hasLeft {
			results[player] = result
		}
		if !isVoid {
			o.players[player].addResult(result, question, o.limitMS)
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
		return
	}
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

// countRemaining counts the players who are still in.
func (o *oracle) countRemaining() (n int) {
	for _, t := range o.players {
		if !t.eliminated && !t.hasLeft {
			n++
		}
	}
	return n
}

// winner returns the only one at rank 1: the team in a buzzer match with teams,
// else the player.
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
	if o.mode == Buzzer && len(teams) > 0 {
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
