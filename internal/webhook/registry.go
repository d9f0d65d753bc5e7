package webhook

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

const (
	maxEndpoints = 16 // of a game: each is a row with every result
	maxAttempts  = 36 // with the waits of backoff some 3 days, twice that at most
)

// endpointName is a part of a topic and of a command.
var endpointName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Book is the endpoints of all games, and what this node knows of each. It is
// for concurrent use.
type Registry struct {
	games   map[string][]*endpointState // in the order given
	topics  map[string]*endpointState
	metrics *metrics
}

// NewBook makes a book. Its error lists all that is wrong with the endpoints.
// Without a registry nothing is measured.
func NewRegistry(endpoints []Endpoint, r prometheus.Registerer) (*Registry, error) {
	b := &Registry{games: map[string][]*endpointState{}, topics: map[string]*endpointState{}, metrics: newMetrics(r)}
	var faults []error
	for _, e := range endpoints {
		if err := b.add(e); err != nil {
			faults = append(faults, fmt.Errorf("webhook %q of game %q: %w", e.Name, e.Game, err))
		}
	}
	return b, errors.Join(faults...)
}

func (b *Registry) add(e Endpoint) error {
	task := taskqueue.NewTask{Game: e.Game, Topic: e.Topic(), Key: "any", Payload: []byte("{}")}
	switch {
	case !endpointName.MatchString(e.Name):
		return errors.New("its name is 1 to 64 letters, digits, _ and -")
	case b.topics[e.Topic()] != nil:
		return errors.New("the game has that name twice")
	case len(b.games[e.Game]) == maxEndpoints:
		return fmt.Errorf("a game has up to %d", maxEndpoints)
	case task.Check() != nil:
		return task.Check()
	}
	for i, event := range e.Events {
		if !slices.Contains(Events(), event) {
			return fmt.Errorf("unknown event %q: some of %q, or none for all", event, Events())
		}
		if slices.Contains(e.Events[:i], event) {
			return fmt.Errorf("it has the event %q twice", event)
		}
	}
	if len(e.Events) == 0 {
		e.Events = Events()
	}
	r := newEndpointState(e)
	b.games[e.Game], b.topics[e.Topic()] = append(b.games[e.Game], r), r
	b.metrics.init(r)
	return nil
}

// Settled gives the tasks that tell of a result which the ledger has taken. What
// a disabled endpoint does not get is counted with each call.
func (b *Registry) Settled(r *match.Result, at int64) []taskqueue.NewTask {
	tasks := b.deliveries(event{kind: MatchSettled, game: r.Game, subject: r.Match, occurredAt: at, data: settledMatch(r)})
	if r.ArenaID == "" {
		return tasks
	}
	return append(tasks, b.deliveries(event{kind: ArenaOver, game: r.Game, subject: r.Match, occurredAt: at, data: settledMatch(r)})...)
}

// Sealed gives the task that reads the top lists of a day that is over, and then
// tells of it.
func (b *Registry) Sealed(game, day string, at int64) []taskqueue.NewTask {
	if !b.isSubscribed(DaySealed, game) {
		return nil
	}
	return []taskqueue.NewTask{{Game: game, Topic: SealKind + "/" + game, Key: day, Payload: encode(sealTask{at})}}
}

// deliveries are the tasks by which all endpoints that want it are told of an
// event.
func (b *Registry) deliveries(e event) (tasks []taskqueue.NewTask) {
	var message Message
	for _, r := range b.games[e.game] {
		if !r.subscribes(e.kind) {
			continue
		}
		if r.disabledReason() != "" {
			b.metrics.drops.WithLabelValues(r.Game, r.Name, reasonDisabled).Inc()
			continue
		}
		if message.ID == "" {
			message = e.message()
		}
		tasks = append(tasks, r.delivery(message))
	}
	return tasks
}

// wanted says whether an endpoint of the game wants the events of a type.
func (b *Registry) isSubscribed(kind, game string) bool {
	return slices.ContainsFunc(b.games[game], func(r *endpointState) bool { return r.subscribes(kind) })
}

// find gives an endpoint, or ErrNoEndpoint.
func (b *Registry) find(game, name string) (*endpointState, error) {
	r := b.topics[(&Endpoint{Game: game, Name: name}).Topic()]
	if r == nil {
		return nil, fmt.Errorf("%w: %q of game %q", ErrNoEndpoint, name, game)
	}
	return r, nil
}

// all are the endpoints, by game.
func (b *Registry) endpoints() (endpoints []*endpointState) {
	for _, game := range slices.Sorted(maps.Keys(b.games)) {
		endpoints = append(endpoints, b.games[game]...)
	}
	return endpoints
}
