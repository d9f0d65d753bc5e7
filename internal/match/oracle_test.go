package match

import (
	"cmp"
	"slices"
)

// oracle computes a match from its events as the wire contract describes: who
// answered what and when, and which questions closed. It uses no code of the
// engine.
type oracle struct {
	mode    Mode
	limit   int64
	players map[string]*playerTotals
	answers map[string]givenAnswer // answers to the open question
	closed  int                    // questions closed and not void
	first   string                 // the player who won the buzzer question
}

// playerTotals are the totals of one player by the contract.
type playerTotals struct {
	team                     string
	score, time              int64
	correct, answered, asked int
	survived                 int // questions up to the last one survived
	out, hasLeft             bool
}

// givenAnswer is an accepted answer.
type givenAnswer struct {
	right   bool
	elapsed int64
}

// expectedResult is the effect of a question on one player.
type expectedResult struct {
	givenAnswer
	answered, out bool
	points        int64
}

func newOracle(mode Mode, limit int64) *oracle {
	return &oracle{mode: mode, limit: limit, players: map[string]*playerTotals{}}
}

// openQuestion clears the answers to the previous question.
func (o *oracle) openQuestion() { o.answers, o.first = map[string]givenAnswer{}, "" }

// canAnswer reports whether a player may answer the open question.
func (o *oracle) canAnswer(player string) bool {
	t := o.players[player]
	_, twice := o.answers[player]
	return t != nil && !t.out && !t.hasLeft && !twice
}

func (o *oracle) answer(player string, right bool, elapsed int64) {
	if elapsed < -50 { // the clock is behind
		elapsed = o.limit
	}
	o.answers[player] = givenAnswer{right, max(elapsed, 0)}
	if right && o.mode == Buzzer {
		o.first = player
	}
}

// askedPlayers lists the players who are asked the open question, also those who left.
func (o *oracle) askedPlayers() []string {
	var asked []string
	for player, t := range o.players {
		if !t.out {
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

func (o *oracle) points(s givenAnswer) int64 {
	switch {
	case !s.right:
		return 0
	case o.mode == Buzzer:
		return 100
	}
	elapsed := min(s.elapsed, o.limit)
	return 100 + 100*(o.limit-elapsed)/o.limit
}

// closeQuestion closes the open question and returns its effect on the players who were
// asked. In survival it leaves out those who left.
func (o *oracle) closeQuestion(question int) (verdicts map[string]expectedResult, isVoid bool) {
	isVoid = o.mode == Survival
	for _, s := range o.answers {
		isVoid = isVoid && !s.right
	}
	verdicts = map[string]expectedResult{}
	for _, player := range o.askedPlayers() {
		s, answered := o.answers[player]
		v := expectedResult{givenAnswer: s, answered: answered, points: o.points(s), out: o.mode == Survival && !s.right && !isVoid}
		if o.mode != Survival || !o.players[player].hasLeft {
			verdicts[player] = v
		}
		if !isVoid {
			o.players[player].add(v, question, o.limit)
		}
	}
	if !isVoid {
		o.closed++
	}
	return verdicts, isVoid
}

func (t *playerTotals) add(v expectedResult, question int, limit int64) {
	t.asked++
	t.score += v.points
	t.out = v.out
	if v.answered {
		t.answered++
	}
	if !v.right {
		t.time += limit
		return
	}
	t.correct++
	t.time += min(v.elapsed, limit)
	t.survived = question + 1
}

// compare orders two players by the contract, the better one first.
func (o *oracle) compare(a, b string) int {
	x, y := o.players[a], o.players[b]
	switch {
	case x.hasLeft && !y.hasLeft:
		return 1
	case y.hasLeft && !x.hasLeft:
		return -1
	}
	if o.mode == Survival {
		return cmp.Or(cmp.Compare(y.survived, x.survived), cmp.Compare(x.time, y.time))
	}
	return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(x.time, y.time))
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
		if !t.out && !t.hasLeft {
			n++
		}
	}
	return n
}

// winner returns the only one at rank 1: the team in a buzzer match with teams,
// else the player.
func (o *oracle) winner(teams []Team) string {
	best := func(n int, score func(i int) int64, id func(i int) string) string {
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
		return best(len(teams), func(i int) int64 { return o.teamScore(teams[i].ID) }, func(i int) string { return teams[i].ID })
	}
	var all []string
	for player := range o.players {
		all = append(all, player)
	}
	return best(len(all), func(i int) int64 { return -int64(o.rank(all[i])) }, func(i int) string { return all[i] })
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
