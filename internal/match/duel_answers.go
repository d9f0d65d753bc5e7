package match

// duelAnswers is what this node knows of the answers of a duel, by seat. This node can judge
// an answer if it knows all others.
type duelAnswers struct {
	stateVersion int64    // version of the step that led to the known state
	version      int64    // version after the newest known answer; 0 if the answers are unknown
	records      []Record // of the current question; without a player if there is none
	totals       []Totals
}

// newerAnswers returns the answers of a view of a duel, or the known ones if the view has
// older ones or not all. A view without totals is complete only before the first answer.
func (d duelAnswers) newerAnswers(plan *Plan, view View, stateVersion int64) duelAnswers {
	isComplete := view.Records != nil && (view.Totals != nil || view.Question <= 0 && len(view.Records) == 0)
	if plan.Arena != nil || !isComplete || view.Version < d.version {
		return d
	}
	seats := len(plan.Seats)
	newer := duelAnswers{stateVersion: stateVersion, version: view.Version, records: make([]Record, seats), totals: make([]Totals, seats)}
	for i, seat := range plan.Seats {
		newer.records[i], newer.totals[i] = view.Records[seat.Player], view.Totals[seat.Player]
	}
	return newer
}

// view returns a duel in a state with its known answers.
func (d duelAnswers) view(plan *Plan, state State) View {
	view := View{State: d.addTo(state), Records: make(map[string]Record, len(plan.Seats)), Totals: make(map[string]Totals, len(plan.Seats))}
	for i, seat := range plan.Seats {
		if record := d.records[i]; record.Player != "" {
			view.Records[seat.Player] = record
		}
		view.Totals[seat.Player] = d.totals[i]
	}
	return view
}

// addTo returns a state with the version and the counts of the known answers.
func (d duelAnswers) addTo(state State) State {
	state.Version, state.Answered, state.Right = d.version, 0, 0
	for i := range d.records {
		if d.records[i].Player != "" {
			state.Answered++
		}
		if d.records[i].Correct {
			state.Right++
		}
	}
	return state
}

// noteRead stores what is known after a read.
func (l *localMatch) noteRead(view View) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.Version = max(l.seen.Version, view.Version)
	l.duel = l.duel.newerAnswers(l.plan, view, view.Version)
}

// knownView returns what this node knows of a match, with the answers of a duel if it knows
// them.
func (l *localMatch) knownView() View {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.knowsAnswers() {
		return View{State: l.state}
	}
	return l.duel.view(l.plan, l.state)
}

// knowsAnswers reports whether this node knows all answers of a duel. The caller holds mu.
func (l *localMatch) knowsAnswers() bool {
	return l.duel.version > 0 && l.duel.version == l.seen.Version && l.duel.stateVersion == l.state.Version
}

// nextAnswer judges whether an answer to the current question of a duel is accepted, and then
// prepares it for a step. view is the duel with that answer. It has records and totals only if
// all have answered. The verdict is VerdictStale if this node does not know all other answers.
func (l *localMatch) nextAnswer(attempt Attempt) (answer *StepAnswer, view View, outcome Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	record := &attempt.Record
	seat := l.plan.seatIndex(record.Player)
	switch {
	case !l.knowsAnswers() || l.state.Question != record.Question || l.state.OpensAt != attempt.OpensAt || l.state.isLate(*record):
		return nil, View{}, Outcome{Verdict: VerdictStale}
	case l.duel.records[seat].Player != "":
		return nil, View{}, Outcome{Verdict: VerdictDuplicate, Record: l.duel.records[seat]}
	case l.state.Phase != PhaseOpen:
		return nil, View{}, Outcome{Verdict: VerdictLate}
	}
	answer = &StepAnswer{attempt, l.duel.totals[seat].withRecord(*record)}
	view = View{State: l.duel.addTo(l.state)}
	if view.Answered+1 >= view.Alive {
		view = l.duel.view(l.plan, l.state)
		view.Records[record.Player], view.Totals[record.Player] = *record, answer.Totals
	}
	view.Answered++
	if record.Correct {
		view.Right++
	}
	return answer, view, Outcome{Verdict: VerdictAccepted}
}

// noteRemoteAnswer notes the answer that a step of another node has accepted. This node must
// read the answers if it did not know all of them before that step, or knows another one: then
// the store has lost writes.
func (l *localMatch) noteRemoteAnswer(header messageHeader) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if header.Answer == nil || l.duel.version == 0 || header.Version > l.duel.version+1 {
		l.duel.version = 0
		return
	}
	record, seat := header.Answer.Record, l.plan.seatIndex(header.Answer.Record.Player)
	if header.Version <= l.duel.version { // this node has read the answer before the message came
		if seat >= 0 && l.duel.records[seat].ArrivedAt != record.ArrivedAt {
			l.duel.version = 0
		}
		return
	}
	l.duel.version = header.Version
	if seat >= 0 {
		l.duel.records[seat], l.duel.totals[seat] = record, header.Answer.Totals
	}
	if header.State == nil {
		return
	}
	l.duel.stateVersion = header.Version
	for i := range l.duel.records {
		if l.duel.records[i].Question != header.State.Question {
			l.duel.records[i] = Record{}
		}
	}
}
