package eventq

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"laststand/internal/timer"
)

// Players reports the server's own players: online, offline, and the matches that
// they play.
//
// Each session of a player has its own id. If a new session replaces an older one,
// at this node or another, the offline of the older may come a little after the
// online of the newer.
//
// Every online gets one offline. If its node dies, another node reports the offline some
// seconds later, with the time when the node was last seen. There are two exceptions. If a
// node dies in the first moments of a session, the offline may be lost. If a live node has
// no heartbeat for deadAfterMS, its sessions are ended, and it reports the real ends again
// later. Besides, an offline can be dropped, as any behaviour.
//
// The caller must call Run. The methods are safe for concurrent use.
type Players struct {
	*shared
	offer   func(game string, b Behaviour)
	members *membership
	counts  playerMetrics

	mu      sync.Mutex
	open    map[*session]struct{}
	current map[playerKey]*session // the newest session of each player
	changes []SessionRecord        // on their way to the store, the oldest first
}

type playerKey struct{ game, player string }

const (
	// maxPending bounds the waiting changes. Ends are accepted beyond it, because
	// the start of each was accepted before.
	maxPending = 100_000
	// syncBatch is how many sessions one call of the store takes.
	syncBatch = 400
	// syncInterval is how often the changes are stored.
	syncInterval = 200 * time.Millisecond
	// syncTimeout bounds the last changes at the end.
	syncTimeout = 3 * time.Second
)

// NewPlayers returns the part of a service that reports the server's own players.
func NewPlayers(s *Service) *Players { return newPlayers(s.members, s.Offer) }

func newPlayers(m *membership, offer func(string, Behaviour)) *Players {
	return &Players{
		shared: m.shared, offer: offer, members: m, counts: newPlayerMetrics(m.Registry),
		open: make(map[*session]struct{}), current: make(map[playerKey]*session),
	}
}

// Run stores the sessions of this node, and reports the end of those whose nodes are
// dead. When ctx ends, it ends the remaining sessions of this node. The Run of the
// Service must end later.
func (p *Players) Run(ctx context.Context) error {
	timer.Every(ctx, syncInterval, timer.LogFailures(p.Logger, "storing sessions of players", func(ctx context.Context) error {
		return errors.Join(p.storeChanges(ctx), p.endDeadNodeSessions(ctx))
	}))
	for _, open := range p.openSessions() {
		p.leave(open)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncTimeout)
	defer cancel()
	if err := p.storeChanges(ctx); err != nil {
		p.Logger.Warn("ends of sessions were not stored; another node reports them again, with the same ids", "error", err)
	}
	return nil
}

func (p *Players) openSessions() []*session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.open))
}

// Enter begins a session of a player and returns the function that ends it. The
// player is verified if there is a pi. Only the first call of that function has an
// effect. Neither function blocks.
func (p *Players) Enter(game, player, pi string) (leave func()) {
	g := p.games[game]
	if g == nil || len(g.Report) == 0 {
		return func() {}
	}
	started, now := newSession(game, player, pi), p.Now()
	p.start(started, now, g.reports(Offline))
	p.offer(game, started.online(now))
	return func() { p.leave(started) }
}

// start registers a session. It is also stored if its end is reported and not too many
// changes wait.
func (p *Players) start(started *session, now int64, isEndReported bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[started] = struct{}{}
	p.current[playerKey{started.game, started.player.Player}] = started
	p.counts.here.Inc()
	if started.isRecorded = isEndReported && len(p.changes) < maxPending; started.isRecorded {
		p.changes = append(p.changes, started.record(now, false))
	} else if isEndReported {
		p.counts.recordFailures.Inc()
	}
}

// leave ends a session, unless it has ended before. It first offers the offline, so that
// the store does not forget it earlier.
func (p *Players) leave(ended *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, isOpen := p.open[ended]; !isOpen {
		return
	}
	delete(p.open, ended)
	if key := (playerKey{ended.game, ended.player.Player}); p.current[key] == ended {
		delete(p.current, key)
	}
	p.counts.here.Dec()
	end := ended.record(p.Now(), true)
	p.offer(ended.game, end.Offline)
	if ended.isRecorded {
		p.changes = append(p.changes, end)
	}
}

// storeChanges stores the changes, until that fails. A session may have started and ended.
func (p *Players) storeChanges(ctx context.Context) error {
	for {
		changes := p.oldestChanges()
		if len(changes) == 0 {
			return nil
		}
		if err := p.syncSessions(ctx, p.Node, changes); err != nil {
			return err
		}
		p.dropChanges(len(changes))
	}
}

func (p *Players) syncSessions(ctx context.Context, node string, changes []SessionRecord) error {
	return p.call(ctx, func(ctx context.Context) error { return p.Nodes.SyncSessions(ctx, node, changes) })
}

// call makes a call about sessions.
func (p *Players) call(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := do(ctx)
	if err != nil {
		p.counts.storeErrors.Inc()
	}
	return err
}

func (p *Players) oldestChanges() []SessionRecord {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.changes[:min(len(p.changes), syncBatch)])
}

func (p *Players) dropChanges(count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	clear(p.changes[:count]) // lets the garbage collector free them
	p.changes = p.changes[count:]
}

// sessionOf returns the newest session of a player here, or nil.
func (p *Players) sessionOf(game, player string) *session {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current[playerKey{game, player}]
}
