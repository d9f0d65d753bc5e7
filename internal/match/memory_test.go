package match

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"laststand/internal/protocol"
)

// memory is Store and Index in a map, by the contract of the scripts.
type memory struct {
	mu      sync.Mutex
	matches map[string]*kept
	pending map[string]Result
	taken   map[string]int // how often each step of a match was taken, as phase/question
}

type kept struct {
	plan    *Plan
	state   State
	log     [][]byte
	locks   map[string]string // attempt, by question|player
	records map[string]Record
	totals  map[string]Totals
	step    string // the last attempt that moved the match, and its first number
	first   int64
	due     int64
	until   int64 // when it expires, 0 for never
}

func newMemory() *memory {
	return &memory{matches: map[string]*kept{}, pending: map[string]Result{}, taken: map[string]int{}}
}

// find is a match that has not expired. The caller holds mu.
func (m *memory) find(id string) (*kept, error) {
	k := m.matches[id]
	if k == nil || k.until > 0 && time.Now().UnixMilli() >= k.until {
		return nil, ErrNotFound
	}
	return k, nil
}

func (m *memory) Create(_ context.Context, p *Plan, found protocol.Numbered) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find(p.ID); err == nil {
		return false, nil
	}
	m.matches[p.ID] = &kept{
		plan: p, state: State{Phase: Countdown, Question: -1, DueAt: p.StartsAt, Seq: 1}, log: [][]byte{found.Frame(1)},
		locks: map[string]string{}, records: map[string]Record{}, totals: map[string]Totals{}, due: p.StartsAt,
	}
	return true, nil
}

func (m *memory) Read(_ context.Context, q ReadQuery) (View, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(q.Match)
	if err != nil {
		return View{}, err
	}
	v := View{State: k.state, Records: map[string]Record{}, Totals: map[string]Totals{}}
	if q.Plan {
		v.Plan = k.plan
	}
	if q.After >= 0 && q.After < int64(len(k.log)) {
		v.Frames = slices.Clone(k.log[q.After:])
	}
	for _, player := range q.Players {
		v.Totals[player] = k.totals[player]
		if r, ok := k.records[place(k.state.Question, player)]; ok {
			v.Records[player] = r
		}
	}
	return v, nil
}

func (m *memory) Commit(_ context.Context, a Attempt) (Outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(a.Match)
	if err != nil {
		return Outcome{Verdict: Gone}, nil
	}
	at := place(a.Record.Question, a.Record.Player)
	s := &k.state
	switch {
	case k.locks[at] == a.ID:
		return Outcome{Verdict: Accepted, Record: k.records[at], Answered: s.Answered}, nil
	case k.locks[at] != "":
		return Outcome{Verdict: Duplicate, Record: k.records[at]}, nil
	case a.Record.Question > s.Question:
		return Outcome{Verdict: Early}, nil
	case s.Phase != Open || a.Record.Question != s.Question || a.Record.At > s.ClosesAt:
		return Outcome{Verdict: Late}, nil
	case a.OpensAt != s.OpensAt:
		return Outcome{Verdict: Stale}, nil
	}
	k.locks[at], k.records[at] = a.ID, a.Record
	k.totals[a.Record.Player] = plus(k.totals[a.Record.Player], a.Record)
	s.Answered++
	if a.Record.Correct {
		s.Right++
	}
	if s.Answered >= int64(a.Seats) {
		k.due = a.Record.At
	}
	s.Seq++
	k.log = append(k.log, a.Seen.Frame(s.Seq))
	return Outcome{Verdict: Accepted, Record: a.Record, Answered: s.Answered, Seq: s.Seq}, nil
}

func (m *memory) Record(_ context.Context, match, player string, question int) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(match)
	if err != nil {
		return Record{}, false, nil
	}
	r, ok := k.records[place(question, player)]
	return r, ok, nil
}

func (m *memory) Step(_ context.Context, s Step) (Stepped, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k, err := m.find(s.Match)
	if err != nil {
		return Stepped{}, err
	}
	if k.step == s.ID {
		return Stepped{Taken: true, First: k.first}, nil
	}
	if k.state.Phase != s.From || k.state.Question != s.Question {
		return Stepped{}, nil
	}
	m.taken[s.Match+" "+string(s.To.Phase)+"/"+strconv.Itoa(s.To.Question)]++
	s.To.Seq, s.To.Answered, s.To.Right = k.state.Seq, k.state.Answered, k.state.Right
	if s.To.Phase == Open && s.From != Open {
		s.To.Answered, s.To.Right = 0, 0
	}
	k.step, k.first, k.due = s.ID, k.state.Seq+1, s.To.DueAt
	for _, p := range s.Pushes {
		s.To.Seq++
		k.log = append(k.log, p.Frame(s.To.Seq))
	}
	k.state = s.To
	if s.Result != nil {
		m.pending[s.Match] = *s.Result
	}
	if s.KeepMS > 0 {
		k.until = time.Now().UnixMilli() + s.KeepMS
	}
	return Stepped{Taken: true, First: k.first}, nil
}

func (m *memory) Due(_ context.Context, before int64) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var ids []string
	for id, k := range m.matches {
		if k.due > 0 && k.due < before {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, cmp.Compare)
	return ids, nil
}

func (m *memory) Forget(_ context.Context, match string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.matches, match)
	return nil
}

func (m *memory) Seqs(_ context.Context, matches []string) (map[string]int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	seqs := map[string]int64{}
	for _, id := range matches {
		if k := m.matches[id]; k != nil && k.state.Phase != Settled {
			seqs[id] = k.state.Seq
		}
	}
	return seqs, nil
}

func (m *memory) Pending(_ context.Context, match string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.pending[match]
	return ok, nil
}

func (m *memory) Unsettled(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.pending)), nil
}

// state is where a match stands.
func (m *memory) state(id string) State {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.matches[id].state
}

// result is the pending result of a match.
func (m *memory) result(id string) (Result, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.pending[id]
	return r, ok
}

func place(question int, player string) string { return strconv.Itoa(question) + "|" + player }

func plus(t Totals, r Record) Totals {
	t.Score += r.Points
	t.Answered++
	t.SavedMS += r.SavedMS
	if r.Correct {
		t.Correct++
	}
	return t
}

var errDown = errors.New("the store is down")

// A fault is what becomes of one call of the store.
type fault int

const (
	works fault = iota
	fails       // nothing is done
	loses       // it is done, and the reply is lost
)

// link is a node's way to the store. The fault is asked for with the name of
// the method and the match, "" for none; nil always works.
type link struct {
	*memory
	mu    sync.Mutex
	fault func(method, match string) fault
}

func (l *link) set(f func(method, match string) fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

func (l *link) ask(method, match string) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		return works
	}
	return l.fault(method, match)
}

func over[T any](l *link, method, match string, call func() (T, error)) (T, error) {
	var none T
	f := l.ask(method, match)
	if f == fails {
		return none, errDown
	}
	v, err := call()
	if f == loses {
		return none, errDown
	}
	return v, err
}

func (l *link) Create(ctx context.Context, p *Plan, found protocol.Numbered) (bool, error) {
	return over(l, "Create", p.ID, func() (bool, error) { return l.memory.Create(ctx, p, found) })
}

func (l *link) Read(ctx context.Context, q ReadQuery) (View, error) {
	return over(l, "Read", q.Match, func() (View, error) { return l.memory.Read(ctx, q) })
}

func (l *link) Commit(ctx context.Context, a Attempt) (Outcome, error) {
	return over(l, "Commit", a.Match, func() (Outcome, error) { return l.memory.Commit(ctx, a) })
}

func (l *link) Step(ctx context.Context, s Step) (Stepped, error) {
	return over(l, "Step", s.Match, func() (Stepped, error) { return l.memory.Step(ctx, s) })
}

func (l *link) Due(ctx context.Context, before int64) ([]string, error) {
	return over(l, "Due", "", func() ([]string, error) { return l.memory.Due(ctx, before) })
}

func (l *link) Seqs(ctx context.Context, matches []string) (map[string]int64, error) {
	return over(l, "Seqs", "", func() (map[string]int64, error) { return l.memory.Seqs(ctx, matches) })
}

func (l *link) Unsettled(ctx context.Context) (int64, error) {
	return over(l, "Unsettled", "", func() (int64, error) { return l.memory.Unsettled(ctx) })
}

// retrying runs the first commit twice, as the client library may.
type retrying struct {
	*memory
	between func()
}

func (r *retrying) Commit(ctx context.Context, a Attempt) (Outcome, error) {
	out, err := r.memory.Commit(ctx, a)
	if r.between == nil || err != nil {
		return out, err
	}
	r.between()
	r.between = nil
	return r.memory.Commit(ctx, a)
}
