// Package playerevents has the server's own players reported as behaviours: who comes
// and goes, and the matches that they play meanwhile.
package playerevents

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/eventq"
)

// Config is what visits are reported by; all fields but Registry are needed.
type Config struct {
	Games []eventq.Policy // whose Report names what is reported
	// Offer takes a behaviour unless one of its id was taken within
	// eventq.SeenForMS. It does not block.
	Offer    func(game string, b eventq.Behaviour)
	Sessions SessionStore
	Node     string
	// Duty gives the partitions that this node is to look after, and the nodes
	// that are alive; none of them while that is not known.
	Duty     func() (partitions []int, alive []string)
	Now      func() int64 // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Service reports the server's own players: online and offline, and the matches
// that they play meanwhile.
//
// Each session of a player is a visit of its own, with an id of its own: where
// one replaces another, here or at another node, the former's offline may come
// a little after the newer's online. An online has one offline: where its node
// dies, the owner of its partition reports that some seconds later, as of when
// the node was last seen. Only a node that dies in the first moments of a visit
// may take its offline along, and one that seems dead for deadMS, and is not,
// has its visits ended all the same, and says so again at their real end.
//
// Run has to be called. It is safe for concurrent use.
type Service struct {
	Config
	metrics  metrics
	reports  map[string]map[string]bool // by game and type
	queue    syncQueue
	detector failureDetector

	mu      sync.Mutex
	all     map[*session]struct{}
	current map[playerKey]*session // the newest of each
	games   map[string]int         // how many of their visits are listed
}

type playerKey struct{ game, player string }

// New makes a service.
func New(c Config) *Service {
	s := &Service{
		Config: c, metrics: newMetrics(c.Registry), reports: make(map[string]map[string]bool), queue: newSyncQueue(),
		all: make(map[*session]struct{}), current: make(map[playerKey]*session), games: make(map[string]int),
	}
	for _, t := range c.Games {
		types := make(map[string]bool)
		for _, kind := range t.Report {
			types[kind] = true
		}
		s.reports[t.Game] = types
	}
	return s
}

// Enter begins a visit of a player, who is verified where there is a pi, and
// gives what ends it. A call of that after the first does nothing. Neither
// waits for anything.
func (s *Service) Enter(game, player, pi string) (leave func()) {
	reports := s.reports[game]
	if len(reports) == 0 {
		return func() {}
	}
	started := newSession(game, player, pi)
	now := s.Now()
	if reports[eventq.Offline] {
		started.isRecorded = s.enqueue(change{SessionRecord: started.record(now)})
	}
	s.register(started)
	if reports[eventq.Online] {
		s.Offer(game, started.online(now))
	}
	return func() { s.leave(started) }
}

func (s *Service) leave(ended *session) {
	if !s.unregister(ended) || !s.reports[ended.game][eventq.Offline] {
		return
	}
	end := ended.record(s.Now())
	s.Offer(ended.game, end.Offline)
	if ended.isRecorded {
		s.enqueue(change{SessionRecord: end, isEnd: true})
	}
}

// come notes a visit.
func (s *Service) register(added *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[added] = struct{}{}
	s.current[playerKey{added.game, added.player}] = added
	if added.isRecorded {
		s.games[added.game]++
	}
	s.metrics.here.Inc()
}

// gone says whether a visit was there until now.
func (s *Service) unregister(removed *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, isOpen := s.all[removed]; !isOpen {
		return false
	}
	delete(s.all, removed)
	if key := (playerKey{removed.game, removed.player}); s.current[key] == removed {
		delete(s.current, key)
	}
	if removed.isRecorded {
		s.games[removed.game]--
	}
	if s.games[removed.game] == 0 {
		delete(s.games, removed.game)
	}
	s.metrics.here.Dec()
	return true
}

// list has Attendance follow, unless too much waits for that.
func (s *Service) enqueue(c change) bool {
	isQueued := s.queue.add(c)
	if !isQueued {
		s.metrics.recordFailures.Inc()
	}
	return isQueued
}

// current is a player's visit here, the newest; nil for none.
func (s *Service) sessionOf(game, player string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[playerKey{game, player}]
}
