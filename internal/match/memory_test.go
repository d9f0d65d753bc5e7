package match

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"laststand/internal/protocol"
)

// memoryStore implements Store and Index with a map. It is the model of their
// contracts.
type memoryStore struct {
	mu         sync.Mutex
	matches    map[string]*storedMatch
	tombstones map[string]bool // ids of tombstoned matches
	pending    map[string]Result
	applied    map[string]int // how often each step of a match was applied, as phase/question
}

// storedMatch is one match.
type storedMatch struct {
	plan             *Plan
	state            State
	log              [][]byte
	locks            map[string]string // attempt, by question|player
	records          map[string]Record // by question|player
	totals           map[string]Totals
	seats            map[string]Seat // of an arena
	roles            map[string]Role // of people without a seat
	teams            map[string]TeamTotals
	lockouts         map[string]int64 // end (epoch ms) by question|team
	openFirsts       map[int]bool     // open questions without a right answer
	firsts           []First
	nodes            map[string]bool
	written          map[string]int64 // version after the newest write of each node
	scores           []byte
	counts           map[string]int64 // answers to the current question, by value
	lastStepID       string           // id of the last applied step
	lastStepFirstSeq int64            // number of its first push
	lastStepVersion  int64            // version after it
	dueAt            int64            // deadline in the index (epoch ms); 0 for none
	expiresAt        int64            // when it expires (epoch ms); 0 for never
}

func newMemoryStore() *memoryStore {
	return &memoryStore{
		matches: map[string]*storedMatch{}, tombstones: map[string]bool{}, pending: map[string]Result{}, applied: map[string]int{},
	}
}

// clone copies a match, as a replica that fell behind has it.
func (stored *storedMatch) clone() *storedMatch {
	c := *stored
	c.state.Voids, c.log, c.firsts = slices.Clone(stored.state.Voids), slices.Clone(stored.log), slices.Clone(stored.firsts)
	c.locks, c.records, c.totals = maps.Clone(stored.locks), maps.Clone(stored.records), maps.Clone(stored.totals)
	c.seats, c.roles, c.teams = maps.Clone(stored.seats), maps.Clone(stored.roles), maps.Clone(stored.teams)
	c.counts = maps.Clone(stored.counts)
	c.lockouts, c.openFirsts, c.nodes = maps.Clone(stored.lockouts), maps.Clone(stored.openFirsts), maps.Clone(stored.nodes)
	c.written = maps.Clone(stored.written)
	return &c
}

// find returns a match that has not expired. The caller holds mu.
func (m *memoryStore) find(id string, seen Seen) (*storedMatch, error) {
	stored := m.matches[id]
	if stored == nil || stored.expiresAt > 0 && time.Now().UnixMilli() >= stored.expiresAt {
		return nil, ErrNotFound
	}
	if stored.state.Version < seen.Version || stored.written[seen.Node] < seen.Written {
		return nil, ErrAbandoned
	}
	return stored, nil
}

func (m *memoryStore) Create(_ context.Context, created NewMatch) (bool, error) {
	plan, state := created.Plan, created.State
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(plan.ID, Seen{}); err == nil || m.tombstones[plan.ID] {
		return false, nil
	}
	stored := &storedMatch{
		plan: plan, state: state, dueAt: state.DueAt, locks: map[string]string{}, records: map[string]Record{},
		totals: map[string]Totals{}, seats: map[string]Seat{}, roles: map[string]Role{}, teams: map[string]TeamTotals{},
		lockouts: map[string]int64{}, openFirsts: map[int]bool{}, nodes: map[string]bool{}, written: map[string]int64{},
	}
	stored.state.Version = 1
	if created.Found != nil {
		stored.push(*created.Found)
	}
	if created.Node != "" {
		stored.nodes[created.Node] = true
	}
	m.matches[plan.ID] = stored
	return true, nil
}

func (m *memoryStore) Tombstone(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.find(id, Seen{})
	if err != nil {
		m.tombstones[id] = true
	}
	return err == nil, nil
}

func (stored *storedMatch) push(p protocol.NumberedPush) {
	stored.state.Seq++
	stored.log = append(stored.log, p.Frame(stored.state.Seq))
}

func (m *memoryStore) Read(_ context.Context, query ReadQuery) (View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, err := m.find(query.Match, query.Seen)
	if err != nil {
		return View{}, err
	}
	if query.Node != "" {
		stored.nodes[query.Node] = true
	}
	view := View{
		State: stored.state, Nodes: stored.sortedNodes(), Scores: stored.scores,
		Records: map[string]Record{}, Totals: map[string]Totals{}, Ranks: map[string]int64{}, Gaps: map[string]int64{},
	}
	if query.WantPlan {
		view.Plan = stored.plan
	}
	if query.AfterSeq >= 0 && query.AfterSeq < int64(len(stored.log)) {
		view.Frames = slices.Clone(stored.log[query.AfterSeq:])
	}
	if query.WantListed {
		view.Seats, view.Teams, view.Firsts = stored.listedSeats(), maps.Clone(stored.teams), slices.Clone(stored.firsts)
		view.Counts = stored.sortedCounts()
	}
	for _, player := range slices.Concat(playerIDs(view.Seats), query.Players) {
		view.Totals[player] = stored.totals[player]
		if record, ok := stored.records[answerKey(stored.state.Question, player)]; ok {
			view.Records[player] = record
		}
	}
	for _, player := range query.Players {
		if _, ok := stored.seats[player]; ok && query.WantRanks {
			view.Ranks[player] = 1 + int64(stored.countBetter(player))
			if gap := stored.gap(player); gap > 0 {
				view.Gaps[player] = gap
			}
		}
	}
	return view, nil
}

func (stored *storedMatch) sortedNodes() []string { return slices.Sorted(maps.Keys(stored.nodes)) }

func playerIDs(seats []Seat) []string {
	players := make([]string, len(seats))
	for i, seat := range seats {
		players[i] = seat.Player
	}
	return players
}

// listedSeats lists an arena's listed seats, best first. While a survival question is
// open or sealed, the order is by score.
func (stored *storedMatch) listedSeats() []Seat {
	order := stored.compareByRankAndID
	if state := stored.state; stored.plan.Mode == Survival && (state.Phase == PhaseOpen || state.Phase == PhaseSealed) && state.EndReason == "" {
		order = func(a, b string) int {
			totalsA, totalsB := stored.totals[a], stored.totals[b]
			return cmp.Or(cmp.Compare(totalsB.LastCorrect, totalsA.LastCorrect), cmp.Compare(totalsB.Score, totalsA.Score), cmp.Compare(b, a))
		}
	}
	all := stored.sortedSeats(order)
	if len(all) > FullListPlayers {
		return all[:ShortListPlayers]
	}
	return all
}

func (stored *storedMatch) sortedSeats(order func(a, b string) int) []Seat {
	all := slices.Collect(maps.Values(stored.seats))
	slices.SortFunc(all, func(a, b Seat) int { return order(a.Player, b.Player) })
	return all
}

// compareByRankAndID orders players by the rules of the mode, and equal ones by id.
func (stored *storedMatch) compareByRankAndID(a, b string) int {
	return cmp.Or(stored.compareByRank(a, b), cmp.Compare(b, a))
}

func (stored *storedMatch) compareByRank(a, b string) int {
	totalsA, totalsB := stored.totals[a], stored.totals[b]
	switch {
	case totalsA.HasLeft && !totalsB.HasLeft:
		return 1
	case totalsB.HasLeft && !totalsA.HasLeft:
		return -1
	case stored.plan.Mode == Survival:
		return cmp.Or(cmp.Compare(totalsB.LastCorrect, totalsA.LastCorrect), cmp.Compare(totalsB.SavedMS, totalsA.SavedMS))
	}
	return cmp.Or(cmp.Compare(totalsB.Score, totalsA.Score), cmp.Compare(totalsB.SavedMS, totalsA.SavedMS))
}

func (stored *storedMatch) countBetter(player string) (n int) {
	for other := range stored.seats {
		if stored.compareByRank(other, player) < 0 {
			n++
		}
	}
	return n
}

// gap is how many points a player of a race is behind the next higher score.
func (stored *storedMatch) gap(player string) (gap int64) {
	for _, t := range stored.totals {
		if d := t.Score - stored.totals[player].Score; stored.plan.Mode == Race && d > 0 && !t.HasLeft && !stored.totals[player].HasLeft && (gap == 0 || d < gap) {
			gap = d
		}
	}
	return gap
}

// count counts an answer of an arena, or with n below 0 retracts it.
func (stored *storedMatch) count(normalized string, n int64) {
	for _, value := range CountedValues(normalized) {
		if stored.plan.Arena != nil {
			stored.counts[value] += n
		}
	}
}

func (stored *storedMatch) sortedCounts() (counts []ValueCount) {
	for value, n := range stored.counts {
		counts = append(counts, ValueCount{value, n})
	}
	slices.SortFunc(counts, func(a, b ValueCount) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(b.Value, a.Value)) })
	return counts[:min(len(counts), 16)]
}

func (m *memoryStore) Step(_ context.Context, step Step) (StepResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	abandons := step.NewState.EndReason == ReasonAbandoned
	seen := step.Seen
	if abandons {
		seen = Seen{}
	}
	stored, err := m.find(step.Match, seen)
	if err != nil {
		return StepResult{}, err
	}
	if stored.lastStepID != step.ID {
		if stored.state.Phase != step.From.Phase || stored.state.Question != step.From.Question || step.Version > 0 && step.Version != stored.state.Version ||
			step.Answer != nil && stored.locks[step.Answer.answerKey()] != "" {
			return StepResult{}, nil
		}
		m.applied[step.Match+" "+step.name()]++
		m.applyStep(stored, step)
	}
	return StepResult{Applied: true, FirstSeq: stored.lastStepFirstSeq, Version: stored.lastStepVersion, Nodes: stored.sortedNodes()}, nil
}

// name returns what a step does, and to which question.
func (s Step) name() string {
	if s.From.Phase == PhaseOpen && s.NewState.Phase == PhaseOpen && s.NewState.Question == s.From.Question {
		if s.Answer != nil {
			return "answered/" + s.Answer.answerKey()
		}
		return "extended/" + strconv.Itoa(s.NewState.Question)
	}
	return string(s.NewState.Phase) + "/" + strconv.Itoa(s.NewState.Question)
}

// applyStep applies a step. The caller holds mu.
func (m *memoryStore) applyStep(stored *storedMatch, step Step) {
	stored.lastStepID, stored.lastStepFirstSeq, stored.dueAt = step.ID, stored.state.Seq+1, step.NewState.DueAt
	if answer := step.Answer; answer != nil {
		stored.locks[answer.answerKey()], stored.records[answer.answerKey()], stored.totals[answer.Record.Player] = answer.ID, answer.Record, answer.Totals
	}
	stored.updateOpenFirsts(step)
	stored.applyStepFields(step)
	if step.NewState.EndReason == ReasonAbandoned {
		stored.state.Version = max(stored.state.Version, step.Seen.Version)
	}
	if step.Answer != nil && !step.OpensQuestion() {
		stored.state.Answered, stored.state.Right = step.NewState.Answered, step.NewState.Right
	}
	stored.state.Version++
	stored.lastStepVersion = stored.state.Version
	stored.written[step.Seen.Node] = stored.state.Version
	for _, push := range step.Pushes {
		stored.push(push)
	}
	if step.OpensQuestion() {
		stored.counts = map[string]int64{}
	}
	if step.Scores != nil {
		stored.scores = step.Scores
	}
	if step.Result != nil {
		m.pending[step.Match] = *step.Result
	}
	if step.TTLMS > 0 && (step.Result == nil || !step.Result.Paged) {
		stored.expiresAt = time.Now().UnixMilli() + step.TTLMS
	}
}

func (stored *storedMatch) updateOpenFirsts(step Step) {
	if step.Mode == Buzzer && step.ClosesQuestion() {
		delete(stored.openFirsts, step.From.Question)
	}
	if step.Mode == Buzzer && step.OpensQuestion() {
		stored.openFirsts[step.NewState.Question] = true
	}
}

// applyStepFields sets the fields that steps write, as far as the step changes them.
func (stored *storedMatch) applyStepFields(step Step) {
	state, from, to := &stored.state, &step.From, &step.NewState
	state.DueAt, state.Extended = to.DueAt, to.Extended
	setChanged(&state.Phase, from.Phase, to.Phase)
	setChanged(&state.Question, from.Question, to.Question)
	setChanged(&state.StartsAt, from.StartsAt, to.StartsAt)
	setChanged(&state.OpensAt, from.OpensAt, to.OpensAt)
	setChanged(&state.ClosesAt, from.ClosesAt, to.ClosesAt)
	setChanged(&state.StartedAt, from.StartedAt, to.StartedAt)
	setChanged(&state.CloseReason, from.CloseReason, to.CloseReason)
	setChanged(&state.EndReason, from.EndReason, to.EndReason)
	setChanged(&state.Leaver, from.Leaver, to.Leaver)
	setChanged(&state.HostPaced, from.HostPaced, to.HostPaced)
	setChanged(&state.Alive, from.Alive, to.Alive)
	setChanged(&state.LastDecided, from.LastDecided, to.LastDecided)
	if !slices.Equal(from.Voids, to.Voids) {
		state.Voids = to.Voids
	}
	if !slices.Equal(from.Extra, to.Extra) {
		state.Extra = to.Extra
	}
	if step.OpensQuestion() {
		state.Answered, state.Right, state.First = 0, 0, nil
	}
}

func setChanged[T comparable](stored *T, from, to T) {
	if from != to {
		*stored = to
	}
}

func (m *memoryStore) PostponeHostDeadline(_ context.Context, id string, dueAt int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	stored, err := m.find(id, Seen{})
	if err != nil {
		return err
	}
	state := &stored.state
	waitsForHost := state.HostPaced && state.EndReason == "" &&
		(state.Phase == PhaseCountdown || state.Phase == PhaseRevealed && !(View{State: *state}).isLastQuestion(stored.plan))
	if waitsForHost && dueAt > state.DueAt {
		state.DueAt, stored.dueAt = dueAt, dueAt
	}
	return nil
}

func (m *memoryStore) Nodes(_ context.Context, matches ...string) (map[string][]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	nodes := make(map[string][]string)
	for _, id := range matches {
		if stored, err := m.find(id, Seen{}); err == nil {
			nodes[id] = stored.sortedNodes()
		}
	}
	return nodes, nil
}

// state returns the state of a match.
func (m *memoryStore) state(id string) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.matches[id].state
}

// result returns the pending result of a match.
func (m *memoryStore) result(id string) (Result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.pending[id]
	return r, ok
}

func answerKey(question int, player string) string { return strconv.Itoa(question) + "|" + player }
