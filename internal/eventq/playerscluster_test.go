package eventq

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// hall is what nodes share, in virtual time: the store of sessions, and a receiver of offered behaviours, each id once.
type hall struct {
	*testing.T

	mu     sync.Mutex
	visits map[string]map[string]SessionRecord // by node and session
	seen   map[string]int64
	down   bool
	taken  []Behaviour
	ids    map[string]bool
	twice  int // offered again
	early  int // orphans that Exit before their end is offered
}

var errHall = errors.New("the hall is out of reach")

func withHall(t *testing.T, f func(h *hall)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f(&hall{T: t, visits: map[string]map[string]SessionRecord{}, seen: map[string]int64{}, ids: map[string]bool{}})
	})
}

// testNode is a node's Players, and what it knows.
type testNode struct {
	*Players
	hall *hall
	stop func() // in order

	dead bool // what it does has no effect; guarded by the mutex of hall
	cut  bool // only this node does not reach the store; guarded by the mutex of hall
}

// node runs a node. All games report every type.
func (h *hall) node(name string) *testNode {
	all := []string{Online, Offline, MatchStart, MatchEnd}
	p := &testNode{hall: h}
	members := newMembership(newShared(Config{
		Games: []Policy{{Game: "demo", Report: all}, {Game: "starts", Report: []string{MatchStart}}, {Game: "none"}},
		Queue: newMemory(), Nodes: fakeNodes{p}, Node: name, Now: now, Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
	}))
	p.Players = newPlayers(members, p.report)
	ctx, cancel := context.WithCancel(h.Context())
	var running sync.WaitGroup
	running.Go(func() { members.runHeartbeats(ctx) })
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			h.Error(err)
		}
	})
	p.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		members.leave(ctx)
	})
	h.Cleanup(p.stop)
	return p
}

func now() int64 { return time.Now().UnixMilli() }

// die ends a node without a leave.
func (p *testNode) die() {
	p.hall.mu.Lock()
	p.dead = true
	p.hall.mu.Unlock()
	p.stop()
}

// report accepts behaviours as Service.Offer does.
func (p *testNode) report(game string, b Behaviour) {
	h := p.hall
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case p.dead || !p.games[game].reports(b.Type):
	case h.ids[game+" "+b.ID]:
		h.twice++
	default:
		h.ids[game+" "+b.ID] = true
		h.taken = append(h.taken, b)
	}
}

// checkStore locks the cluster, or returns an error while the store is
// unreachable.
func (p *testNode) checkStore() error {
	p.hall.mu.Lock()
	if p.dead || p.cut || p.hall.down {
		p.hall.mu.Unlock()
		return errHall
	}
	return nil
}

// fakeNodes is the shared store as one node reaches it.
type fakeNodes struct{ *testNode }

func (a fakeNodes) Heartbeat(_ context.Context, node string, now int64) (map[string]int64, error) {
	if err := a.checkStore(); err != nil {
		return nil, err
	}
	defer a.hall.mu.Unlock()
	a.hall.seen[node] = now
	return maps.Clone(a.hall.seen), nil
}

func (a fakeNodes) SyncSessions(_ context.Context, node string, changes []SessionRecord) error {
	if err := a.checkStore(); err != nil {
		return err
	}
	defer a.hall.mu.Unlock()
	if a.hall.visits[node] == nil {
		a.hall.visits[node] = map[string]SessionRecord{}
	}
	for _, v := range changes {
		if v.Ended {
			continue
		}
		a.hall.visits[node][v.Session] = v
	}
	for _, v := range changes {
		if !v.Ended {
			continue
		}
		if node != a.Node && !a.hall.ids[v.Game+" "+v.Offline.ID] {
			a.hall.early++
		}
		delete(a.hall.visits[node], v.Session)
	}
	return nil
}

func (a fakeNodes) Sessions(_ context.Context, node string, seenAt int64, limit int) (found []SessionRecord, err error) {
	if err := a.checkStore(); err != nil {
		return nil, err
	}
	defer a.hall.mu.Unlock()
	if a.hall.seen[node] != seenAt {
		return nil, nil
	}
	for _, v := range a.hall.visits[node] {
		if found = append(found, v); len(found) == limit {
			break
		}
	}
	if len(found) == 0 {
		delete(a.hall.seen, node)
	}
	return found, nil
}

// reported returns the reported behaviours of a type, or all of them for "".
func (h *hall) reported(kind string) (found []Behaviour) {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.taken {
		if b.Type == kind || kind == "" {
			found = append(found, b)
		}
	}
	return found
}

// recordedAt returns how many sessions the store has at a node.
func (h *hall) recordedAt(node string) int {
	time.Sleep(2 * syncInterval)
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.visits[node])
}

func (h *hall) setDown(down bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
}

func (p *testNode) setCut(cut bool) {
	p.hall.mu.Lock()
	defer p.hall.mu.Unlock()
	p.cut = cut
}

// pairs checks that there are n onlines, each with one offline, and no other
// offline.
func (h *hall) pairs(want int) {
	h.Helper()
	online, offline := map[string]int{}, map[string]int{}
	for _, b := range h.reported(Online) {
		online[b.Session]++
	}
	for _, b := range h.reported(Offline) {
		offline[b.Session]++
	}
	if len(online) != want || len(offline) != want {
		h.Errorf("%d online, %d offline, want %d", len(online), len(offline), want)
	}
	for session, times := range online {
		if times != 1 || offline[session] != 1 {
			h.Errorf("%s: %d times online, %d offline", session, times, offline[session])
		}
	}
}
