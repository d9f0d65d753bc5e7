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
	maxEndpoints = 16 // per game, because each endpoint adds a task for each result
	maxAttempts  = 36 // per delivery; with the delays of deliveryBackoff they take about 3 days, at most 6
)

// endpointNamePattern allows names that can be part of a topic and of a command.
var endpointName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Registry holds the endpoints of all games and their states at this node. It is
// safe for concurrent use.
type Registry struct {
	games   map[string][]*endpointState // by game, in the order of the configuration
	topics  map[string]*endpointState
	metrics *metrics
}

// NewRegistry returns a registry. Its error lists all invalid endpoints. If registerer
// is nil, there are no metrics.
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
		return errors.New("its name must have 1 to 64 letters, digits, _ and -")
	case b.topics[e.Topic()] != nil:
		return errors.New("the game has that name twice")
	case len(b.games[e.Game]) == maxEndpoints:
		return fmt.Errorf("a game has up to %d", maxEndpoints)
	case task.Check() != nil:
		return task.Check()
	}
	for i, event := range e.Events {
		if !slices.Contains(Events(), event) {
			return fmt.Errorf("unknown event %q; use some of %q, or none for all", event, Events())
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

// TasksForResult returns the deliveries of a result that is being written to the ledger.
// at is when, in epoch ms. Each call counts the events that disabled endpoints miss.
func (b *Registry) Settled(r *match.Result, at int64) []taskqueue.NewTask {
	tasks := b.deliveries(event{kind: MatchSettled, game: r.Game, subject: r.Match, occurredAt: at, data: settledMatch(r)})
	if r.ArenaID == "" {
		return tasks
	}
	return append(tasks, b.deliveries(event{kind: ArenaOver, game: r.Game, subject: r.Match, occurredAt: at, data: settledMatch(r)})...)
}

// TasksForEndedDay returns the task that reads the top lists of an ended day and enqueues
// their deliveries. It returns none if no endpoint of the game subscribes to day.sealed.
// at is when the day ended, in epoch ms.
func (b *Registry) Sealed(game, day string, at int64) []taskqueue.NewTask {
	if !b.isSubscribed(DaySealed, game) {
		return nil
	}
	return []taskqueue.NewTask{{Game: game, Topic: SealKind + "/" + game, Key: day, Payload: encode(sealTask{at})}}
}

// deliveries returns the tasks that send an event to all enabled endpoints that
// subscribe to its type.
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

// hasSubscriber returns true if an endpoint of the game subscribes to a type of events.
func (b *Registry) isSubscribed(kind, game string) bool {
	return slices.ContainsFunc(b.games[game], func(r *endpointState) bool { return r.subscribes(kind) })
}

// find returns an endpoint, or ErrNoEndpoint.
func (b *Registry) find(game, name string) (*endpointState, error) {
	r := b.topics[(&Endpoint{Game: game, Name: name}).Topic()]
	if r == nil {
		return nil, fmt.Errorf("%w: %q of game %q", ErrNoEndpoint, name, game)
	}
	return r, nil
}

// endpoints returns all endpoints, sorted by game.
func (b *Registry) endpoints() (endpoints []*endpointState) {
	for _, game := range slices.Sorted(maps.Keys(b.games)) {
		endpoints = append(endpoints, b.games[game]...)
	}
	return endpoints
}
