package match

import (
	"context"
	"errors"
	"sync"
	"time"

	"laststand/internal/protocol"
)

var errDown = errors.New("the store is down")

// fault is what happens to one call of the store.
type fault int

const (
	works   fault = iota
	fails         // the call does nothing
	loses         // the call is executed, and its reply is lost
	unreads       // the call does nothing: this node cannot read the match
)

// faultyStore is a node's connection to the store. It asks a function for the
// fault of each call, with the method and the match ("" for none). The function
// may block. nil means no faults.
type faultyStore struct {
	*memoryStore
	mu    sync.Mutex
	fault func(method, match string) fault
	delay func(method string) // delay of the reply; may be nil
	reads []ReadQuery         // reads since recordReads was called first
	keeps bool
}

// recordReads returns the reads since its previous call.
func (l *faultyStore) recordReads() []ReadQuery {
	l.mu.Lock()
	defer l.mu.Unlock()
	reads := l.reads
	l.reads, l.keeps = nil, true
	return reads
}

func (l *faultyStore) keepRead(q ReadQuery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keeps {
		l.reads = append(l.reads, q)
	}
}

func (l *faultyStore) set(f func(method, match string) fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault = f
}

func (l *faultyStore) askFault(method, match string) fault {
	l.mu.Lock()
	f := l.fault
	l.mu.Unlock()
	if f == nil {
		return works
	}
	return f(method, match)
}

// slow delays the replies of the store.
func (l *faultyStore) slow(delay func(method string)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

func (l *faultyStore) await(method string) {
	l.mu.Lock()
	delay := l.delay
	l.mu.Unlock()
	if delay != nil {
		delay(method)
	}
}

func callStore[T any](l *faultyStore, method, match string, call func() (T, error)) (T, error) {
	var none T
	f := l.askFault(method, match)
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

func (l *faultyStore) Create(ctx context.Context, p *Plan, s State, found *protocol.Numbered) (bool, error) {
	return callStore(l, "Create", p.ID, func() (bool, error) { return l.memoryStore.Create(ctx, p, s, found) })
}

func (l *faultyStore) Read(ctx context.Context, q ReadQuery) (View, error) {
	l.keepRead(q)
	return callStore(l, "Read", q.Match, func() (View, error) { return l.memoryStore.Read(ctx, q) })
}

func (l *faultyStore) Commit(ctx context.Context, a Attempt) (Outcome, error) {
	return callStore(l, "Commit", a.Match, func() (Outcome, error) { return l.memoryStore.Commit(ctx, a) })
}

func (l *faultyStore) Race(ctx context.Context, a Attempt) (Outcome, error) {
	return callStore(l, "Race", a.Match, func() (Outcome, error) { return l.memoryStore.Race(ctx, a) })
}

func (l *faultyStore) Step(ctx context.Context, s Step) (StepResult, error) {
	return callStore(l, "Step", s.Match, func() (StepResult, error) { return l.memoryStore.Step(ctx, s) })
}

func (l *faultyStore) Member(ctx context.Context, match, player string) (Member, error) {
	return callStore(l, "Member", match, func() (Member, error) { return l.memoryStore.Member(ctx, match, player) })
}

func (l *faultyStore) RankedPlayers(ctx context.Context, match string, from, limit int) ([]RankedPlayer, error) {
	return callStore(l, "RankedPlayers", match, func() ([]RankedPlayer, error) { return l.memoryStore.RankedPlayers(ctx, match, from, limit) })
}

func (l *faultyStore) Nodes(ctx context.Context, match string) ([]string, error) {
	return callStore(l, "Nodes", match, func() ([]string, error) { return l.memoryStore.Nodes(ctx, match) })
}

func (l *faultyStore) PostponeHostDeadline(ctx context.Context, match string, dueAt int64) error {
	_, err := callStore(l, "PostponeHostDeadline", match, func() (int, error) { return 0, l.memoryStore.PostponeHostDeadline(ctx, match, dueAt) })
	return err
}

func (l *faultyStore) ListDue(ctx context.Context, before int64) ([]string, error) {
	return callStore(l, "ListDue", "", func() ([]string, error) { return l.memoryStore.ListDue(ctx, before) })
}

func (l *faultyStore) ReadProgress(ctx context.Context, matches []string) (map[string]Progress, error) {
	return callStore(l, "ReadProgress", "", func() (map[string]Progress, error) { return l.memoryStore.ReadProgress(ctx, matches) })
}

func (l *faultyStore) CountUnsettled(ctx context.Context) (int64, error) {
	return callStore(l, "CountUnsettled", "", func() (int64, error) { return l.memoryStore.CountUnsettled(ctx) })
}

// failsStepsAndSearches is the fault of a node that can neither apply steps nor
// search for them.
func followsNothing(method, _ string) fault {
	if method == "Step" || method == "ListDue" || method == "ReadProgress" {
		return fails
	}
	return works
}

// retryingStore runs the first commit twice, as the client library may.
type retryingStore struct {
	*memoryStore
	between func()
}

func (r *retryingStore) Commit(ctx context.Context, a Attempt) (Outcome, error) {
	out, err := r.memoryStore.Commit(ctx, a)
	if r.between == nil || err != nil {
		return out, err
	}
	r.between()
	r.between = nil
	return r.memoryStore.Commit(ctx, a)
}

// fakeBus is the bus between nodes. It delivers every message once, immediately. If
// route is set, route returns how often and after which delay.
type fakeBus struct {
	mu    sync.Mutex
	boxes map[string]map[string]func([]byte)
	route func(kind string) (times int, after time.Duration)
	sent  map[string]int // by kind
}

func newFakeBus() *fakeBus {
	return &fakeBus{boxes: map[string]map[string]func([]byte){}, sent: map[string]int{}}
}

func (m *fakeBus) set(route func(kind string) (times int, after time.Duration)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.route = route
}

func (m *fakeBus) enter(node string, box map[string]func([]byte)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.boxes[node] = box
}

func (m *fakeBus) leave(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.boxes, node)
}

// box returns the handler of a kind at a node; nil for none.
func (m *fakeBus) box(node, kind string) func([]byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.boxes[node][kind]
}

func (m *fakeBus) plan(kind string) (times int, after time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent[kind]++
	if m.route == nil {
		return 1, 0
	}
	return m.route(kind)
}

// busSender is a node's side of the bus.
type busSender struct {
	*fakeBus
	node string
}

func (s busSender) Send(_ context.Context, nodes []string, kind string, payload []byte) {
	for _, node := range nodes {
		if node == s.node {
			continue
		}
		for times, after := s.plan(kind); times > 0; times-- {
			deliver := func() {
				if handler := s.box(node, kind); handler != nil {
					handler(payload)
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
