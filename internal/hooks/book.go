package hooks

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
	maxTries     = 36 // with the waits of backoff some 3 days, twice that at most
)

// endpointName is a part of a topic and of a command.
var endpointName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Book is the endpoints of all games, and what this node knows of each. It is
// for concurrent use.
type Book struct {
	games   map[string][]*receiver // in the order given
	topics  map[string]*receiver
	metrics *metrics
}

// NewBook makes a book. Its error lists all that is wrong with the endpoints.
// Without a registry nothing is measured.
func NewBook(endpoints []Endpoint, r prometheus.Registerer) (*Book, error) {
	b := &Book{games: map[string][]*receiver{}, topics: map[string]*receiver{}, metrics: newMetrics(r)}
	var faults []error
	for _, e := range endpoints {
		if err := b.add(e); err != nil {
			faults = append(faults, fmt.Errorf("webhook %q of game %q: %w", e.Name, e.Game, err))
		}
	}
	return b, errors.Join(faults...)
}

func (b *Book) add(e Endpoint) error {
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
	r := newReceiver(e)
	b.games[e.Game], b.topics[e.Topic()] = append(b.games[e.Game], r), r
	b.metrics.begin(r)
	return nil
}

// Settled gives the tasks that tell of a result which the ledger has taken. What
// a disabled endpoint does not get is counted with each call.
func (b *Book) Settled(r *match.Result, at int64) []taskqueue.NewTask {
	tasks := b.deliveries(event{what: MatchSettled, game: r.Game, subject: r.Match, at: at, data: settledMatch(r)})
	if r.ArenaID == "" {
		return tasks
	}
	return append(tasks, b.deliveries(event{what: ArenaOver, game: r.Game, subject: r.Match, at: at, data: settledMatch(r)})...)
}

// Sealed gives the task that reads the top lists of a day that is over, and then
// tells of it.
func (b *Book) Sealed(game, day string, at int64) []taskqueue.NewTask {
	if !b.wanted(DaySealed, game) {
		return nil
	}
	return []taskqueue.NewTask{{Game: game, Topic: SealKind + "/" + game, Key: day, Payload: encode(sealing{at})}}
}

// deliveries are the tasks by which all endpoints that want it are told of an
// event.
func (b *Book) deliveries(e event) (tasks []taskqueue.NewTask) {
	var message Message
	for _, r := range b.games[e.game] {
		if !r.wants(e.what) {
			continue
		}
		if r.disabled() != "" {
			b.metrics.dropped.WithLabelValues(r.Game, r.Name, reasonDisabled).Inc()
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
func (b *Book) wanted(what, game string) bool {
	return slices.ContainsFunc(b.games[game], func(r *receiver) bool { return r.wants(what) })
}

// find gives an endpoint, or ErrNoEndpoint.
func (b *Book) find(game, name string) (*receiver, error) {
	r := b.topics[(&Endpoint{Game: game, Name: name}).Topic()]
	if r == nil {
		return nil, fmt.Errorf("%w: %q of game %q", ErrNoEndpoint, name, game)
	}
	return r, nil
}

// all are the endpoints, by game.
func (b *Book) all() (all []*receiver) {
	for _, game := range slices.Sorted(maps.Keys(b.games)) {
		all = append(all, b.games[game]...)
	}
	return all
}
