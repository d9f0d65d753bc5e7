package playerevents

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/eventq"
	"laststand/internal/timer"
)

// Config configures a Service. All fields but Registry are required.
type Config struct {
	Games []eventq.Policy // Report of each names the types to report
	// Offer accepts a behaviour unless one with its id was accepted within
	// eventq.DedupeWindowMS. It must not block.
	Offer    func(game string, b eventq.Behaviour)
	Sessions SessionStore
	Node     string
	Duty     func() (partitions []int, alive []string) // as eventq.Service.Duty
	Now      func() int64                              // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Service reports the server's own players: online, offline, and the matches that
// they play.
//
// Each session of a player has its own id. If a new session replaces an older one,
// at this node or another, the offline of the older may come a little after the
// online of the newer.
//
// Every online gets one offline. If its node dies, the owner of the partition
// reports the offline some seconds later, with the time when the node was last
// seen. There are two exceptions. If a node dies in the first moments of a
// session, the offline may be lost. If a live node is not renewed for deadAfterMS, its
// sessions are ended, and it reports the real ends again later.
//
// The caller must call Run. The methods are safe for concurrent use.
type Service struct {
	Config
	metrics metrics
	queue   syncQueue
	watch   watch               // of renewSessions
	reports map[string][]string // which types are reported, by game

	mu      sync.Mutex
	all     map[*session]struct{}
	current map[playerKey]*session // the newest session of each player
}

type playerKey struct{ game, player string }

// New returns a service.
func New(c Config) *Service {
	s := &Service{
		Config: c, metrics: newMetrics(c.Registry), queue: syncQueue{wake: make(chan struct{}, 1)},
		all: make(map[*session]struct{}), current: make(map[playerKey]*session), reports: make(map[string][]string),
	}
	for _, t := range c.Games {
		s.reports[t.Game] = t.Report
	}
	return s
}

// Run keeps the SessionStore up to date, and reports the end of sessions whose
// nodes are dead. When ctx ends, it ends the remaining sessions of this node. The
// receiver of Offer must run longer than it.
func (s *Service) Run(ctx context.Context) error {
	var loops sync.WaitGroup
	loops.Go(func() { s.runSync(ctx) })
	loops.Go(func() { timer.Every(ctx, renewInterval, s.renewSessions) })
	loops.Wait()
	for _, open := range s.openSessions() {
		s.leave(open)
	}
	s.syncRest()
	return nil
}

func (s *Service) openSessions() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.all))
}

func (s *Service) recordError(message string, err error) {
	s.metrics.storeErrors.Inc()
	s.Logger.Warn(message, "error", err)
}

// Enter begins a session of a player and returns the function that ends it. The
// player is verified if there is a pi. Only the first call of that function has an
// effect. Neither function blocks.
func (s *Service) Enter(game, player, pi string) (leave func()) {
	if len(s.reports[game]) == 0 {
		return func() {}
	}
	started := newSession(game, player, pi)
	now := s.Now()
	if s.doesReport(game, eventq.Offline) {
		started.isRecorded = s.enqueue(change{SessionRecord: started.record(now)})
	}
	s.register(started)
	if s.doesReport(game, eventq.Online) {
		s.Offer(game, started.online(now))
	}
	return func() { s.leave(started) }
}

func (s *Service) doesReport(game, kind string) bool { return slices.Contains(s.reports[game], kind) }

func (s *Service) leave(ended *session) {
	if !s.unregister(ended) || !s.doesReport(ended.game, eventq.Offline) {
		return
	}
	end := ended.record(s.Now())
	s.Offer(ended.game, end.Offline)
	if ended.isRecorded {
		s.enqueue(change{SessionRecord: end, isEnd: true})
	}
}

// register records a session.
func (s *Service) register(added *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[added] = struct{}{}
	s.current[playerKey{added.game, added.player}] = added
	s.metrics.here.Inc()
}

// unregister removes a session and reports whether it was there.
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
	s.metrics.here.Dec()
	return true
}

// enqueue queues a change for the SessionStore, unless too many changes wait.
func (s *Service) enqueue(c change) bool {
	isQueued := s.queue.add(c)
	if !isQueued {
		s.metrics.recordFailures.Inc()
	}
	return isQueued
}

// sessionOf returns the newest session of a player here, or nil.
func (s *Service) sessionOf(game, player string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current[playerKey{game, player}]
}
