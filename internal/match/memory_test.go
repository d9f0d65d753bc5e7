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
	mu      sync.Mutex
	matches map[string]*storedMatch
	tombs   map[string]bool // ids of tombstoned matches
	pending map[string]Result
	applied map[string]int // how often each step of a match was applied, as phase/question
}

// storedMatch is one match.
type storedMatch struct {
	plan     *Plan
	state    State
	log      [][]byte
	locks    map[string]string // attempt, by question|player
	records  map[string]Record // by question|player
	totals   map[string]Totals
	seats    map[string]Seat // of an arena
	roles    map[string]Role // of people without a seat
	teams    map[string]TeamTotals
	lockouts map[string]int64 // end (epoch ms) by question|team
	offered  map[int]bool     // open questions without a right answer
	firsts   []First
	nodes    map[string]bool
	scores   []byte
	step     string // the last applied attempt, and the number of its first push
	first    int64
	due      int64
	until    int64 // when it expires (epoch ms); 0 for never
}

func newMemoryStore() *memoryStore {
	return &memoryStore{
		matches: map[string]*storedMatch{}, tombs: map[string]bool{}, pending: map[string]Result{}, applied: map[string]int{},
	}
}

// clone copies a match, as a replica that fell behind has it.
func (k *storedMatch) clone() *storedMatch {
	c := *k
	c.state.Voids, c.log, c.firsts = slices.Clone(k.state.Voids), slices.Clone(k.log), slices.Clone(k.firsts)
	c.locks, c.records, c.totals = maps.Clone(k.locks), maps.Clone(k.records), maps.Clone(k.totals)
	c.seats, c.roles, c.teams = maps.Clone(k.seats), maps.Clone(k.roles), maps.Clone(k.teams)
	c.lockouts, c.offered, c.nodes = maps.Clone(k.lockouts), maps.Clone(k.offered), maps.Clone(k.nodes)
	return &c
}

// find returns a match that has not expired. The caller holds mu.
func (m *memoryStore) find(id string, seen int64) (*storedMatch, error) {
	k := m.matches[id]
	if k == nil || k.until > 0 && time.Now().UnixMilli() >= k.until {
		return nil, ErrNotFound
	}
	if k.state.Version < seen {
		return nil, ErrAbandoned
	}
	return k, nil
}

func (m *memoryStore) Create(_ context.Context, p *Plan, s State, found *protocol.Numbered) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(p.ID, 0); err == nil || m.tombs[p.ID] {
		return false, nil
	}
	k := &storedMatch{
		plan: p, state: s, due: s.DueAt, locks: map[string]string{}, records: map[string]Record{},
		totals: map[string]Totals{}, seats: map[string]Seat{}, roles: map[string]Role{}, teams: map[string]TeamTotals{},
		lockouts: map[string]int64{}, offered: map[int]bool{}, nodes: map[string]bool{},
	}
	k.state.Version = 1
	if found != nil {
		k.push(*found)
	}
	m.matches[p.ID] = k
	return true, nil
}

func (m *memoryStore) Tombstone(_ context.Context, id string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.find(id, 0)
	if err != nil {
		m.tombs[id] = true
	}
	return err == nil, nil
}

func (k *storedMatch) push(p protocol.Numbered) {
	k.state.Seq++
	k.log = append(k.log, p.Frame(k.state.Seq))
}

func (m *memoryStore) Read(_ context.Context, q ReadQuery) (View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(q.Match, q.SeenVersion)
	if err != nil {
		return View{}, err
	}
	if q.Node != "" {
		k.nodes[q.Node] = true
	}
	v := View{
		State: k.state, Nodes: k.sortedNodes(), Scores: k.scores,
		Records: map[string]Record{}, Totals: map[string]Totals{}, Ranks: map[string]int64{},
	}
	if q.WantPlan {
		v.Plan = k.plan
	}
	if q.After >= 0 && q.After < int64(len(k.log)) {
		v.Frames = slices.Clone(k.log[q.After:])
	}
	if q.WantListed {
		v.Seats, v.Teams, v.Firsts = k.shown(), maps.Clone(k.teams), slices.Clone(k.firsts)
	}
	for i, player := range slices.Concat(ids(v.Seats), q.Players) {
		v.Totals[player] = k.totals[player]
		if r, ok := k.records[place(k.state.Question, player)]; ok && (i < len(v.Seats) || !q.OmitRecords) {
			v.Records[player] = r
		}
	}
	for _, player := range q.Players {
		if _, ok := k.seats[player]; ok && q.WantRanks {
			v.Ranks[player] = 1 + int64(k.countBetter(player))
		}
	}
	return v, nil
}

func (k *storedMatch) sortedNodes() []string { return slices.Sorted(maps.Keys(k.nodes)) }

func ids(seats []Seat) []string {
	players := make([]string, len(seats))
	for i, s := range seats {
		players[i] = s.Player
	}
	return players
}

// shown lists an arena's listed seats, best first. While a survival question is
// open or sealed, the order is by score.
func (k *storedMatch) shown() []Seat {
	order := k.byRank
	if s := k.state; k.plan.Mode == Survival && (s.Phase == Open || s.Phase == Sealed) && s.EndReason == "" {
		order = func(a, b string) int {
			x, y := k.totals[a], k.totals[b]
			return cmp.Or(cmp.Compare(y.LastCorrect, x.LastCorrect), cmp.Compare(y.Score, x.Score), cmp.Compare(b, a))
		}
	}
	all := k.sorted(order)
	if len(all) > FullView {
		return all[:ShortView]
	}
	return all
}

func (k *storedMatch) sorted(order func(a, b string) int) []Seat {
	all := slices.Collect(maps.Values(k.seats))
	slices.SortFunc(all, func(a, b Seat) int { return order(a.Player, b.Player) })
	return all
}

// byRank orders players by the rules of the mode, and equal ones by id.
func (k *storedMatch) byRank(a, b string) int { return cmp.Or(k.compare(a, b), cmp.Compare(b, a)) }

func (k *storedMatch) compare(a, b string) int {
	x, y := k.totals[a], k.totals[b]
	switch {
	case x.Left && !y.Left:
		return 1
	case y.Left && !x.Left:
		return -1
	case k.plan.Mode == Survival:
		return cmp.Or(cmp.Compare(y.LastCorrect, x.LastCorrect), cmp.Compare(y.SavedMS, x.SavedMS))
	}
	return cmp.Or(cmp.Compare(y.Score, x.Score), cmp.Compare(y.SavedMS, x.SavedMS))
}

func (k *storedMatch) countBetter(player string) (n int) {
	for other := range k.seats {
		if k.compare(other, player) < 0 {
			n++
		}
	}
	return n
}

func (m *memoryStore) Step(_ context.Context, s Step) (StepResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	abandons := s.To.EndReason == Abandoned
	seen := s.SeenVersion
	if abandons {
		seen = 0
	}
	k, err := m.find(s.Match, seen)
	if err != nil {
		return StepResult{}, err
	}
	if k.step != s.ID {
		if k.state.Phase != s.From || k.state.Question != s.Question || s.Version > 0 && s.Version != k.state.Version {
			return StepResult{}, nil
		}
		m.applied[s.Match+" "+s.name()]++
		m.move(k, s)
	}
	return StepResult{Applied: true, FirstSeq: k.first, Version: k.state.Version, Nodes: k.sortedNodes()}, nil
}

// name returns the phase and question of a step.
func (s Step) name() string {
	if s.From == Open && s.To.Phase == Open {
		return "extended/" + strconv.Itoa(s.Question)
	}
	return string(s.To.Phase) + "/" + strconv.Itoa(s.To.Question)
}

// move applies a step. The caller holds mu.
func (m *memoryStore) move(k *storedMatch, s Step) {
	k.step, k.first, k.due = s.ID, k.state.Seq+1, s.To.DueAt
	opens := s.To.Phase == Open && s.From != Open
	k.offer(s, opens)
	k.write(s.To, opens)
	if s.To.EndReason == Abandoned {
		k.state.Version = max(k.state.Version, s.SeenVersion)
	}
	k.state.Version++
	for _, p := range s.Pushes {
		k.push(p)
	}
	if s.Scores != nil {
		k.scores = s.Scores
	}
	if s.Result != nil {
		m.pending[s.Match] = *s.Result
	}
	if s.KeepMS > 0 && (s.Result == nil || !s.Result.Paged) {
		k.until = time.Now().UnixMilli() + s.KeepMS
	}
}

func (k *storedMatch) offer(s Step, opens bool) {
	switch {
	case s.Buzzer && opens:
		k.offered[s.To.Question] = true
	case s.Buzzer && s.From == Open && s.To.Phase != Open:
		delete(k.offered, s.Question)
	}
}

// applyStepFields sets the fields that steps write. Sealing does not change Alive, because
// players may have left in between.
func (k *storedMatch) write(to State, opens bool) {
	was := k.state
	k.state = to
	if to.Phase == Sealed {
		k.state.Alive = was.Alive
	}
	k.state.Players, k.state.LeftSeats, k.state.EndedPlaces, k.state.Locked = was.Players, was.LeftSeats, was.EndedPlaces, was.Locked
	k.state.Seq, k.state.Version = was.Seq, was.Version
	k.state.Answered, k.state.Right, k.state.First = was.Answered, was.Right, was.First
	if opens {
		k.state.Answered, k.state.Right, k.state.First = 0, 0, nil
	}
}

func (m *memoryStore) PostponeHostDeadline(_ context.Context, id string, dueAt int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(id, 0)
	if err != nil {
		return err
	}
	s := &k.state
	waits := s.HostPaced && s.EndReason == "" &&
		(s.Phase == Countdown || s.Phase == Revealed && !(View{State: *s}).isLastQuestion(k.plan))
	if waits && dueAt > s.DueAt {
		s.DueAt, k.due = dueAt, dueAt
	}
	return nil
}

func (m *memoryStore) Nodes(_ context.Context, id string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(id, 0)
	if err != nil {
		return nil, nil
	}
	return k.sortedNodes(), nil
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

func place(question int, player string) string { return strconv.Itoa(question) + "|" + player }
