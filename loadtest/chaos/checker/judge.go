package checker

import "fmt"

// fullView is the largest match in which the server sends every result to every player.
const fullView = 50

// checkMatches checks every match against the rules.
func (o *checker) checkMatches() {
	for _, r := range o.records.sorted() {
		j := &judgement{record: r, untruths: &o.violations, firsts: make(map[string]int64)}
		var err error
		if j.matchLog, err = readMatchLog(r.pushes); err != nil {
			o.violations.add("%s: %v", r.id, err)
			continue
		}
		j.match()
		o.counts.match(j)
	}
}

// judgement checks the score of one match.
type judgement struct {
	*record
	*matchLog
	untruths *violations
	all      map[string]*totals // by player
	firsts   map[string]int64   // questions that a team answered first
	late     []opening          // opening of each question
}

func (j *judgement) addViolation(format string, args ...any) {
	j.untruths.add("%s (%s): %s", j.id, j.found.Mode, fmt.Sprintf(format, args...))
}

func (j *judgement) match() {
	j.seat()
	due, after := j.found.StartsAt, "the countdown"
	for _, r := range j.rounds {
		j.late = append(j.late, opening{due, r.asked.OpensAt})
		if r.asked.OpensAt < due-earlyMS {
			j.addViolation("question %d was to open at %d, after %s, and did at %d", r.asked.Question, due, after, r.asked.OpensAt)
		}
		due = j.round(r) + revealMS
		after = fmt.Sprintf("one open from %d to %d and closed by %s", r.asked.OpensAt, r.closesAt, r.closed.Reason)
	}
	j.end()
	j.final = j.all
}

// seat creates the totals of every player in the match.
func (j *judgement) seat() {
	j.all = make(map[string]*totals)
	for _, s := range j.found.Seats {
		j.share(s.ID)
	}
	for player, s := range j.shares {
		j.all[player] = &totals{player: player, lasts: -1}
		if !s.over && s.asked.Of > 0 {
			j.addViolation("%s did not see its end", player)
		}
	}
	if len(j.all) != j.found.Players {
		j.addViolation("%d players are in it, and %d were found", len(j.all), j.found.Players)
	}
}
