package match

// duelAnswers is what this node knows of the answers of a duel, by seat. It allows this node
// to judge an answer without a read, as long as no other node has changed the duel.
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

// nextAnswer prepares a judged answer to the open question of a duel for a step. view is the
// duel with that answer, with records and totals only if all have answered. If known is false,
// this node does not know all other answers, or the store must decide about this one.
func (l *localMatch) nextAnswer(attempt Attempt) (answer *StepAnswer, view View, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	record := &attempt.Record
	seat := l.plan.seatIndex(record.Player)
	if !l.knowsAnswers() || l.state.Phase != PhaseOpen || l.state.Question != record.Question || l.state.OpensAt != attempt.OpensAt ||
		record.ArrivedAt > l.state.ClosesAt || l.duel.records[seat].Player != "" {
		return nil, View{}, false
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
	return answer, view, true
}
