package match

import (
	"context"
	"errors"
	"sync"
	"time"
)

var errDown = errors.New("the store is down")

// fault is what happens to one call of the store.
type fault int

const (
	noFault         fault = iota
	failsBefore           // the call does nothing
	losesReply            // the call is executed, and its reply is lost
	unreadableMatch       // the call does nothing: this node cannot read the match
	runsTwice             // the client library repeats the call, after betweenRuns
)

// faultOf returns the fault of one method.
func faultOf(f fault, method string) func(method, match string) fault {
	return func(called, _ string) fault {
		if called == method {
			return f
		}
		return noFault
	}
}

// faultyStore is a node's connection to the store. It asks a function for the
// fault of each call, with the method and the match ("" for none). The function
// may block. nil means no faults.
type faultyStore struct {
	*memoryStore
	mu           sync.Mutex
	fault        func(method, match string) fault
	betweenRuns  func()              // for runsTwice
	delay        func(method string) // delay of the reply; may be nil
	reads        []ReadQuery         // reads since recordReads was called first
	recordsReads bool
}

// recordReads returns the reads since its previous call.
func (store *faultyStore) recordReads() []ReadQuery {
	store.mu.Lock()
	defer store.mu.Unlock()
	reads := store.reads
	store.reads, store.recordsReads = nil, true
	return reads
}

func (store *faultyStore) recordRead(query ReadQuery) {
	store.mu.Lock()
	defer store.mu.Unlock()
	if store.recordsReads {
		store.reads = append(store.reads, query)
	}
}

func (store *faultyStore) setFault(f func(method, match string) fault) {
	store.mu.Lock()
	defer store.mu.Unlock()
	store.fault = f
}

// countCalls counts the calls of a method from now on.
func (store *faultyStore) countCalls(method string) *int {
	calls := new(int)
	store.setFault(func(called, _ string) fault {
		if called == method {
			*calls++
		}
		return noFault
	})
	return calls
}

func (store *faultyStore) askFault(method, match string) fault {
	store.mu.Lock()
	f := store.fault
	store.mu.Unlock()
	if f == nil {
		return noFault
	}
	return f(method, match)
}

// setReplyDelay delays the replies of the store.
func (store *faultyStore) setReplyDelay(delay func(method string)) {
	store.mu.Lock()
	defer store.mu.Unlock()
	store.delay = delay
}

func (store *faultyStore) delayReply(method string) {
	store.mu.Lock()
	delay := store.delay
	store.mu.Unlock()
	if delay != nil {
		delay(method)
	}
}

func callStore[T any](store *faultyStore, method, match string, call func() (T, error)) (T, error) {
	var zero T
	f := store.askFault(method, match)
	switch f {
	case failsBefore:
		return zero, errDown
	case unreadableMatch:
		return zero, &UnreadableError{Reason: ReasonOlderForm, Err: errors.New("form 2")}
	}
	result, err := call()
	if f == runsTwice {
		store.betweenRuns()
		result, err = call()
	}
	store.delayReply(method)
	if f == losesReply {
		return zero, errDown
	}
	return result, err
}

func (store *faultyStore) Create(ctx context.Context, created NewMatch) (bool, error) {
	return callStore(store, "Create", created.Plan.ID, func() (bool, error) { return store.memoryStore.Create(ctx, created) })
}

func (store *faultyStore) Read(ctx context.Context, query ReadQuery) (View, error) {
	store.recordRead(query)
	return callStore(store, "Read", query.Match, func() (View, error) { return store.memoryStore.Read(ctx, query) })
}

func (store *faultyStore) Commit(ctx context.Context, attempt Attempt) (Outcome, error) {
	return callStore(store, "Commit", attempt.Match, func() (Outcome, error) { return store.memoryStore.Commit(ctx, attempt) })
}

func (store *faultyStore) CommitIfFirst(ctx context.Context, attempt Attempt) (Outcome, error) {
	return callStore(store, "Race", attempt.Match, func() (Outcome, error) { return store.memoryStore.CommitIfFirst(ctx, attempt) })
}

func (store *faultyStore) Step(ctx context.Context, step Step) (StepResult, error) {
	return callStore(store, "Step", step.Match, func() (StepResult, error) { return store.memoryStore.Step(ctx, step) })
}

func (store *faultyStore) Members(ctx context.Context, match string, people ...string) (map[string]Member, error) {
	return callStore(store, "Members", match, func() (map[string]Member, error) { return store.memoryStore.Members(ctx, match, people...) })
}

func (store *faultyStore) RankedPlayers(ctx context.Context, match string, from, limit int) ([]RankedPlayer, error) {
	return callStore(store, "RankedPlayers", match, func() ([]RankedPlayer, error) { return store.memoryStore.RankedPlayers(ctx, match, from, limit) })
}

func (store *faultyStore) Nodes(ctx context.Context, matches ...string) (map[string][]string, error) {
	return callStore(store, "Nodes", matches[0], func() (map[string][]string, error) { return store.memoryStore.Nodes(ctx, matches...) })
}

func (store *faultyStore) PostponeHostDeadline(ctx context.Context, match string, dueAt int64) error {
	_, err := callStore(store, "PostponeHostDeadline", match, func() (int, error) { return 0, store.memoryStore.PostponeHostDeadline(ctx, match, dueAt) })
	return err
}

func (store *faultyStore) ListDue(ctx context.Context, before int64) ([]string, error) {
	return callStore(store, "ListDue", "", func() ([]string, error) { return store.memoryStore.ListDue(ctx, before) })
}

func (store *faultyStore) ReadProgress(ctx context.Context, matches []string) (map[string]Progress, error) {
	return callStore(store, "ReadProgress", "", func() (map[string]Progress, error) { return store.memoryStore.ReadProgress(ctx, matches) })
}

func (store *faultyStore) CountUnsettled(ctx context.Context) (int64, error) {
	return callStore(store, "CountUnsettled", "", func() (int64, error) { return store.memoryStore.CountUnsettled(ctx) })
}

// failsStepsAndSearches is the fault of a node that can neither apply steps nor
// search for them.
func failsStepsAndSearches(method, _ string) fault {
	if method == "Step" || method == "ListDue" || method == "ReadProgress" {
		return failsBefore
	}
	return noFault
}

// fakeBus is the bus between nodes. It delivers every message once, immediately. If
// route is set, route returns how often and after which delay.
type fakeBus struct {
	mu       sync.Mutex
	handlers map[string]map[string]func([]byte)
	route    func(kind string) (times int, after time.Duration)
}

func newFakeBus() *fakeBus {
	return &fakeBus{handlers: map[string]map[string]func([]byte){}}
}

func (bus *fakeBus) setRoute(route func(kind string) (times int, after time.Duration)) {
	bus.mu.Lock()
	defer bus.mu.Unlock()
	bus.route = route
}

func (bus *fakeBus) addNode(node string, handlers map[string]func([]byte)) {
	bus.mu.Lock()
	defer bus.mu.Unlock()
	bus.handlers[node] = handlers
}

func (bus *fakeBus) removeNode(node string) {
	bus.mu.Lock()
	defer bus.mu.Unlock()
	delete(bus.handlers, node)
}

// handler returns the handler of a kind at a node; nil for none.
func (bus *fakeBus) handler(node, kind string) func([]byte) {
	bus.mu.Lock()
	defer bus.mu.Unlock()
	return bus.handlers[node][kind]
}

func (bus *fakeBus) routeMessage(kind string) (times int, after time.Duration) {
	bus.mu.Lock()
	defer bus.mu.Unlock()
	if bus.route == nil {
		return 1, 0
	}
	return bus.route(kind)
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
		for times, after := s.routeMessage(kind); times > 0; times-- {
			deliver := func() {
				if handler := s.handler(node, kind); handler != nil {
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
