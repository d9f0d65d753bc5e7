package webhook

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/taskqueue"
)

const maxEndpoints = 16 // per game, because each endpoint adds a task for each result

// endpointNamePattern allows names that can be part of a topic and of a command.
var endpointNamePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Registry holds the endpoints of all games and their states at this node. It is
// safe for concurrent use.
type Registry struct {
	byGame  map[string][]*endpointState // by game, in the order of the configuration
	byTopic map[string]*endpointState
	metrics *metrics
}

// NewRegistry returns a registry. Its error lists all invalid endpoints. If registerer
// is nil, there are no metrics.
func NewRegistry(endpoints []Endpoint, registerer prometheus.Registerer) (*Registry, error) {
	registry := &Registry{byGame: map[string][]*endpointState{}, byTopic: map[string]*endpointState{}, metrics: newMetrics(registerer)}
	var errs []error
	for _, endpoint := range endpoints {
		if err := registry.add(endpoint); err != nil {
			errs = append(errs, fmt.Errorf("webhook %q of game %q: %w", endpoint.Name, endpoint.Game, err))
		}
	}
	return registry, errors.Join(errs...)
}

func (registry *Registry) add(endpoint Endpoint) error {
	task := taskqueue.NewTask{Game: endpoint.Game, Topic: endpoint.Topic(), Key: "any", Payload: []byte("{}")}
	switch {
	case !endpointNamePattern.MatchString(endpoint.Name):
		return errors.New("its name must have 1 to 64 letters, digits, _ and -")
	case registry.byTopic[endpoint.Topic()] != nil:
		return errors.New("the game has that name twice")
	case len(registry.byGame[endpoint.Game]) == maxEndpoints:
		return fmt.Errorf("a game has up to %d", maxEndpoints)
	case task.Check() != nil:
		return task.Check()
	}
	for i, event := range endpoint.Events {
		if !slices.Contains(EventTypes(), event) {
			return fmt.Errorf("unknown event %q; use some of %q, or none for all", event, EventTypes())
		}
		if slices.Contains(endpoint.Events[:i], event) {
			return fmt.Errorf("it has the event %q twice", event)
		}
	}
	if len(endpoint.Events) == 0 {
		endpoint.Events = EventTypes()
	}
	added := newEndpointState(endpoint)
	registry.byGame[endpoint.Game], registry.byTopic[endpoint.Topic()] = append(registry.byGame[endpoint.Game], added), added
	registry.metrics.initEndpoint(added)
	return nil
}

// TasksForResult returns the deliveries of a result that is being written to the ledger.
// at is when, in epoch ms. Each call counts the events that disabled endpoints miss.
func (registry *Registry) TasksForResult(result *match.Result, at int64) []taskqueue.NewTask {
	tasks := registry.deliveries(event{eventType: MatchSettled, game: result.Game, subject: result.Match, occurredAt: at, data: settledMatchData(result)})
	if result.ArenaID == "" {
		return tasks
	}
	return append(tasks, registry.deliveries(event{eventType: ArenaOver, game: result.Game, subject: result.Match, occurredAt: at, data: settledMatchData(result)})...)
}

// TasksForCorrection returns the deliveries of a correction that is being written to the
// ledger. It makes a question of a match void; m is the match after it. at is when, in epoch ms.
func (registry *Registry) TasksForCorrection(m match.Summary, question int, at int64) []taskqueue.NewTask {
	data := correctionData{m.Game, m.Match, m.ArenaID, m.Mode, m.OverAt, question, m.Voided, m.Questions, m.CountsForLeaderboards}
	return registry.deliveries(event{
		eventType: MatchCorrected, game: m.Game, subject: fmt.Sprint(m.Match, "\x00", question), occurredAt: at, data: func(int) any { return data },
	})
}

// TasksForEndedDay returns the task that reads the top lists of an ended day and enqueues
// their deliveries. It returns none if no endpoint of the game subscribes to day.sealed.
// at is when the day ended, in epoch ms.
func (registry *Registry) TasksForEndedDay(game, day string, at int64) []taskqueue.NewTask {
	if !registry.hasSubscriber(DaySealed, game) {
		return nil
	}
	return []taskqueue.NewTask{{Game: game, Topic: SealedDayKind + "/" + game, Key: day, Payload: protocol.EncodeJSON(sealTask{at})}}
}

// sealTask is the payload of a task of SealedDayKind. The task's key is the day.
type sealTask struct {
	At int64 `json:"at"` // when the day was over, epoch ms
}

// deliveries returns the tasks that send an event to all enabled endpoints that
// subscribe to its type.
func (registry *Registry) deliveries(event event) (tasks []taskqueue.NewTask) {
	var message Message
	for _, endpoint := range registry.byGame[event.game] {
		if !endpoint.isSubscribedTo(event.eventType) {
			continue
		}
		if endpoint.disabledReason() != "" {
			registry.metrics.drops.WithLabelValues(endpoint.Game, endpoint.Name, reasonDisabled).Inc()
			continue
		}
		if message.ID == "" {
			message = event.message()
		}
		tasks = append(tasks, endpoint.newDelivery(message))
	}
	return tasks
}

func (registry *Registry) hasSubscriber(eventType, game string) bool {
	return slices.ContainsFunc(registry.byGame[game], func(endpoint *endpointState) bool { return endpoint.isSubscribedTo(eventType) })
}

// find returns an endpoint, or ErrNoEndpoint.
func (registry *Registry) find(game, name string) (*endpointState, error) {
	endpoint := registry.byTopic[(&Endpoint{Game: game, Name: name}).Topic()]
	if endpoint == nil {
		return nil, fmt.Errorf("%w: %q of game %q", ErrNoEndpoint, name, game)
	}
	return endpoint, nil
}

func (registry *Registry) endpoints() (endpoints []*endpointState) {
	for _, game := range slices.Sorted(maps.Keys(registry.byGame)) {
		endpoints = append(endpoints, registry.byGame[game]...)
	}
	return endpoints
}

const maxAttempts = 36 // per delivery; with the delays of deliveryBackoff they take about 3 days, at most 6

type endpointState struct {
	Endpoint
	*throttle

	mu        sync.Mutex
	known     Status // what this node knows, without the fields that need the database
	isFailing bool   // the last attempt at this node failed
}

func newEndpointState(endpoint Endpoint) *endpointState {
	return &endpointState{Endpoint: endpoint, throttle: newThrottle(), known: Status{
		State: State{Game: endpoint.Game, Name: endpoint.Name}, URL: endpoint.host(), Events: endpoint.Events, Ordered: endpoint.Ordered,
	}}
}

func (endpoint *endpointState) isSubscribedTo(eventType string) bool {
	return slices.Contains(endpoint.Events, eventType)
}

// newDelivery returns the task that sends a message to the endpoint. The key is the
// id of the message, the payload its body.
func (endpoint *endpointState) newDelivery(message Message) taskqueue.NewTask {
	task := taskqueue.NewTask{Game: endpoint.Game, Topic: endpoint.Topic(), Key: message.ID, MaxTries: maxAttempts, Payload: message.Body}
	if endpoint.Ordered {
		task.Ordering = taskqueue.Ordered
	}
	return task
}

// status returns the status, without the fields that need the database.
func (endpoint *endpointState) status() Status {
	endpoint.mu.Lock()
	defer endpoint.mu.Unlock()
	return endpoint.known
}

// disabledReason returns why the endpoint gets no messages, or "" if it is
// enabled.
func (endpoint *endpointState) disabledReason() string { return endpoint.status().Disabled }

func (endpoint *endpointState) setState(state State) {
	endpoint.mu.Lock()
	defer endpoint.mu.Unlock()
	endpoint.known.State = state
}

// recordAttempt records the result of an attempt. It returns true if the endpoint has just
// started to fail.
func (endpoint *endpointState) recordAttempt(failure error) (startedFailing bool) {
	endpoint.mu.Lock()
	defer endpoint.mu.Unlock()
	now := time.Now().UnixMilli()
	if failure == nil {
		endpoint.known.AcceptedAt, endpoint.isFailing = now, false
		return false
	}
	startedFailing, endpoint.isFailing = !endpoint.isFailing, true
	endpoint.known.Error, endpoint.known.ErrorAt = failure.Error(), now
	return startedFailing
}
