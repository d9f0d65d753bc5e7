package redismatch

import "laststand/internal/match"

// matchModel is a duel as a register that steps compare and set. It numbers the
// pushes.
type matchModel struct {
	phase        match.Phase
	question     int
	seq, version int64
	held         [2]string // id of the accepted attempt at the question, by player
	step         string    // id of the last applied step
	first        int64     // number of its first push
}

// initialMatch is a duel that was just created.
var initialMatch = matchModel{phase: match.PhaseCountdown, question: -1, seq: 1, version: 1}

// Operations on a duel.
type (
	stepOperation struct {
		id       string
		from, to match.Phase
		at, next int // number of the question before and after the step
		pushes   int64
	}
	attemptOperation struct {
		id               string
		player, question int
	}
	viewOperation struct{}
)

// Outputs of these operations. If mayHaveRunTwice is true, a write or reply was lost, so
// the operation may have run more than once. The output is then that of the last run.
type (
	stepOutput struct {
		applied bool
		first   int64
		lossy   bool
	}
	answered struct {
		verdict match.Verdict
		seq     int64
		lossy   bool
	}
	viewed struct {
		phase             match.Phase
		question          int
		seq, version, log int64
		held              [2]string
	}
)

func (s stepOperation) applyTo(d matchModel, output any) (bool, matchModel) {
	here, after := d.phase == s.from && d.question == s.at, d
	if here {
		after = matchModel{
			phase: s.to, question: s.next, seq: d.seq + s.pushes, version: d.version + 1,
			held: d.held, step: s.id, first: d.seq + 1,
		}
	}
	if here && s.to == match.PhaseOpen {
		after.held = [2]string{}
	}
	if output == nil {
		return true, after
	}
	switch out := output.(stepOutput); {
	case d.step == s.id: // run again
		return out.applied && out.first == d.first, d
	case out.applied:
		return here && out.first == after.first, after
	case out.lossy: // it may have been applied and repeated after the next step
		return true, after
	}
	return !here, d
}

func (a attemptOperation) applyTo(d matchModel, output any) (bool, matchModel) {
	open, held, after := d.phase == match.PhaseOpen && d.question == a.question, "", d
	if d.question == a.question {
		held = d.held[a.player]
	}
	free := open && held == ""
	if free {
		after.held[a.player], after.seq, after.version = a.id, d.seq+1, d.version+1
	}
	if output == nil {
		return true, after
	}
	out := output.(answered)
	switch {
	case out.verdict == match.VerdictAccepted && free:
		return out.seq == after.seq || out.lossy && out.seq == 0, after
	case out.verdict == match.VerdictAccepted: // run again
		return out.seq == 0 && (held == a.id || d.question > a.question), d
	case out.verdict == match.VerdictDuplicate:
		return held != "" && held != a.id || d.question > a.question, d
	}
	return out.verdict == match.VerdictLate && !open && held == "", d
}

func (viewOperation) applyTo(d matchModel, output any) (bool, matchModel) {
	return output == nil || output.(viewed) == viewed{d.phase, d.question, d.seq, d.version, d.seq, d.held}, d
}
