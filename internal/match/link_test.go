package match

import (
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/protocol"
)

var errDown = errors.New("the store is down")

// A fault is what becomes of one call of the store.
type fault int

const (
	works   fault = iota
	fails         // nothing is done
	loses         // it is done, and the reply is lost
	unreads       // nothing is done: this node cannot read the match
)

// link is a node's way to the store. The fault is asked for with the name of
// the method and the match, "" for none, and may take its time; nil always works.
type link struct {
	*memory
	mu    sync.Mutex
	fault func(method, match string) fault
	delay func(method string) // of the reply; nil: there is none
	reads []ReadQuery         // since watch was called; until then none is kept
	keeps bool
}

// watch gives what has been read since it was called last.
func (l *link) watch() []ReadQuery {
	l.mu.Lock()
	defer l.mu.Unlock()
	reads := l.reads
	l.reads, l.keeps = nil, true
	return reads
}

func (l *link) keep(q ReadQuery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keeps {
		l.reads = append(l.reads, q)
	}
}

func (l *link) set(f func(method, match string) fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

func (l *link) ask(method, match string) fault {
	l.mu.Lock()
	f := l.fault
	l.mu.Unlock()
	if f == nil {
		return works
	}
	return f(method, match)
}

// slow has replies of the store take their time.
func (l *link) slow(delay func(method string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

func (l *link) await(method string) {
	l.mu.Lock()
	delay := l.delay
	l.mu.Unlock()
	if delay != nil {
		delay(method)
	}
}

func over[T any](l *link, method, match string, call func() (T, error)) (T, error) {
	var none T
	f := l.ask(method, match)
	switch f {
	case fails:
		return none, errDown
	case unreads:
		return none, &UnreadableError{Reason: OlderForm, Err: errors.New("form 2")}
	}
	v, err := call()
	l.await(method)
	if f == loses {
		return none, errDown
	}
	return v, err
}

func (l *link) Create(ctx context.Context, p *Plan, s State, found *protocol.Numbered) (bool, error) {
	return over(l, "Create", p.ID, func() (bool, error) { return l.memory.Create(ctx, p, s, found) })
}

func (l *link) Read(ctx context.Context, q ReadQuery) (View, error) {
	l.keep(q)
	return over(l, "Read", q.Match, func() (View, error) { return l.memory.Read(ctx, q) })
}

func (l *link) Commit(ctx context.Context, a Attempt) (Outcome, error) {
	return over(l, "Commit", a.Match, func() (Outcome, error) { return l.memory.Commit(ctx, a) })
}

func (l *link) Race(ctx context.Context, a Attempt) (Outcome, error) {
	return over(l, "Race", a.Match, func() (Outcome, error) { return l.memory.Race(ctx, a) })
}

func (l *link) Step(ctx context.Context, s Step) (Stepped, error) {
	return over(l, "Step", s.Match, func() (Stepped, error) { return l.memory.Step(ctx, s) })
}

func (l *link) Member(ctx context.Context, match, player string) (Member, error) {
	return over(l, "Member", match, func() (Member, error) { return l.memory.Member(ctx, match, player) })
}

func (l *link) Placed(ctx context.Context, match string, from, limit int) ([]Placed, error) {
	return over(l, "Placed", match, func() ([]Placed, error) { return l.memory.Placed(ctx, match, from, limit) })
}

func (l *link) Nodes(ctx context.Context, match string) ([]string, error) {
	return over(l, "Nodes", match, func() ([]string, error) { return l.memory.Nodes(ctx, match) })
}

func (l *link) HostHere(ctx context.Context, match string, dueAt int64) error {
	_, err := over(l, "HostHere", match, func() (int, error) { return 0, l.memory.HostHere(ctx, match, dueAt) })
	return err
}

func (l *link) Due(ctx context.Context, before int64) ([]string, error) {
	return over(l, "Due", "", func() ([]string, error) { return l.memory.Due(ctx, before) })
}

func (l *link) Marks(ctx context.Context, matches []string) (map[string]Mark, error) {
	return over(l, "Marks", "", func() (map[string]Mark, error) { return l.memory.Marks(ctx, matches) })
}

func (l *link) Unsettled(ctx context.Context) (int64, error) {
	return over(l, "Unsettled", "", func() (int64, error) { return l.memory.Unsettled(ctx) })
}

// followsNothing is a fault of a node that takes no step and looks for none.
func followsNothing(method, _ string) fault {
	if method == "Step" || method == "Due" || method == "Marks" {
		return fails
	}
	return works
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

// mail is the bus between nodes: every message is delivered at once, unless
// route says when: how often, and after how long.
type mail struct {
	mu    sync.Mutex
	boxes map[string]map[string]func([]byte)
	route func(kind string) (times int, after time.Duration)
	sent  map[string]int // by kind
}

func newMail() *mail {
	return &mail{boxes: map[string]map[string]func([]byte){}, sent: map[string]int{}}
}

func (m *mail) set(route func(kind string) (times int, after time.Duration)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.route = route
}

func (m *mail) enter(node string, box map[string]func([]byte)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes[node] = box
}

func (m *mail) leave(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.boxes, node)
}

// box is what takes messages of a kind at a node; nil for nothing.
func (m *mail) box(node, kind string) func([]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boxes[node][kind]
}

func (m *mail) plan(kind string) (times int, after time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent[kind]++
	if m.route == nil {
		return 1, 0
	}
	return m.route(kind)
}

// sender is a node's side of the mail.
type sender struct {
	*mail
	node string
}

func (s sender) Send(_ context.Context, nodes []string, kind string, payload []byte) {
	for _, node := range nodes {
		if node == s.node {
			continue
		}
		for times, after := s.plan(kind); times > 0; times-- {
			deliver := func() {
				if take := s.box(node, kind); take != nil {
					take(payload)
				}
			}
			if after == 0 {
				deliver()
				continue
			}
			time.AfterFunc(after, deliver)
		}
	}
}
