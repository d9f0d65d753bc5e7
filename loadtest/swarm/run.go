package swarm

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/client"
	"laststand/loadtest/players"
	"laststand/loadtest/stats"
)

// swarm is one run.
type swarm struct {
	Config
	nodes    nodes
	group    *players.Group
	idle     []*idleProcess
	starting sync.WaitGroup // of duel players
	checker  *checker.Checker
	stats    *stats.Recorder

	mu      sync.Mutex
	samples []Sample
	marks   []Mark
}

// Mark is a time at which something changes.
type Mark struct {
	AtS  float64 `json:"at_s"`
	What string  `json:"what"`
}

// Run runs a load test and ends everything that it started. An error says that the
// test could not start. The report lists violations, slow answers and why a run was
// aborted.
func Run(ctx context.Context, c Config) (*Report, error) {
	c.setPace()
	if c.Nodes == 0 || len(c.Attach) > 0 {
		c.Nodes = max(len(c.Attach), (c.connections()+c.mostConnections()-1)/c.mostConnections())
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	s := &swarm{Config: c, checker: &checker.Checker{ArenasCount: len(c.Attach) == 0, Strangers: len(c.Attach) > 0}}
	if len(c.Attach) == 0 {
		s.checker.LimitMS, s.checker.RevealMS = limit.Milliseconds(), c.Reveal.Milliseconds()
	}
	if err := s.startNodes(ctx); err != nil {
		return nil, err
	}
	defer s.nodes.stop()
	s.stats = stats.New(max(time.Second, c.For/300))
	s.mark("%d nodes and %s serve", len(s.nodes.urls), s.nodes.database)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer s.stopIdle()
	if err := s.startClients(ctx); err != nil {
		return nil, err
	}
	var sampling sync.WaitGroup
	clientPIDs := []int{os.Getpid()}
	for _, p := range s.idle {
		clientPIDs = append(clientPIDs, p.ID())
	}
	sampling.Go(func() { s.sampleUntilDone(ctx, clientPIDs) })
	defer sampling.Wait()
	defer cancel()
	return s.play(ctx), nil
}

// startClients starts all clients.
func (s *swarm) startClients(ctx context.Context) error {
	c := players.Config{
		Servers: func() []string { return s.nodes.urls }, Checker: s.checker, Stats: s.stats, Seed: uint64(time.Now().UnixNano()),
		Habits:       players.Habits{Think: s.Think, SecondShare: 1. / 50, OutShare: 1. / 20},
		ReplyTimeout: 20 * time.Second, ConnectTimeout: 2 * time.Minute, SilenceTimeout: 3 * time.Minute,
		LateMatchWait: cmp.Or(s.LateMatchWait, 15*time.Second), ConnectsPerSecond: s.Ramp,
		Questions: s.Questions, Ranked: len(s.Attach) == 0, ReadInterval: time.Second,
	}
	if len(s.Attach) == 0 {
		c.Token = testenv.Token
	}
	if isLocal(s.nodes.urls) {
		c.Dialer = dialerFrom(0)
	}
	s.group = players.NewGroup(ctx, c)
	for mode, n := range map[string]int{"buzzer": s.Buzzer, "survival": s.Survival} {
		for ; n > 1; n -= s.Seats { // one player alone has no arena
			s.group.AddArenas(players.Arenas{Mode: mode, MinPlayers: min(n, s.Seats), MaxPlayers: min(n, s.Seats), OwnPlayers: true})
		}
	}
	s.starting.Go(func() { s.group.SetDuellists(s.Duellists) })
	s.group.AddReaders(s.Readers)
	if s.Behaviours > 0 {
		s.group.AddBehaviours(s.Behaviours)
	}
	s.group.AddWatchers(s.Watchers)
	room := max(s.mostConnections()-s.players()-s.Watchers, 0)
	s.group.AddIdle(min(s.Idle, room))
	return s.startIdle(ctx, s.Idle-room)
}

// isLocal reports whether all servers are on loopback.
func isLocal(servers []string) bool {
	for _, url := range servers {
		if !strings.HasPrefix(url, "http://127.0.0.1:") {
			return false
		}
	}
	return true
}

// play connects the clients, lets them play and stops them. If the run is aborted, it
// still reports everything up to then.
func (s *swarm) play(ctx context.Context) *Report {
	r := &Report{}
	err := s.connect(ctx)
	from := s.stats.Span() + 1
	switch {
	case err != nil:
	case s.Spike:
		r.Spike, err = s.runSpike(ctx)
	default:
		s.mark("the load starts, for %v", s.For)
		err = s.pause(ctx, s.For)
	}
	to := s.stats.Span()
	if err == nil {
		s.mark("no new matches")
		err = s.finish(ctx, r)
	}
	if err == nil {
		s.mark("everything is checked")
	} else {
		r.Aborted = err.Error()
		s.mark("aborted: %v", err)
	}
	s.fillReport(r, from, to)
	return r
}

// mark records a mark and prints it.
func (s *swarm) mark(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := Mark{AtS: s.stats.Seconds(), What: fmt.Sprintf(format, args...)}
	s.marks = append(s.marks, m)
	s.Log("%7.1f s  %s", m.AtS, m.What)
}

// connectStallTimeout bounds the time without a new connection while some are missing.
const connectStallTimeout = time.Minute

// connect waits until all clients are connected.
func (s *swarm) connect(ctx context.Context) error {
	want := int64(s.connections())
	highest, since := int64(-1), time.Now()
	for {
		n := s.connected()
		if n >= want {
			s.mark("%d are connected", n)
			return nil
		}
		if n > highest {
			highest, since = n, time.Now()
		}
		if time.Since(since) > connectStallTimeout {
			s.checker.Violations.Add("only %d of %d clients could connect", n, want)
			return nil
		}
		if err := s.pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func (s *swarm) connected() int64 {
	n := s.group.Connected.Load()
	for _, p := range s.idle {
		n += p.connected.Load()
	}
	return n
}

// pause waits. It returns an error if the run or an idle process has ended.
func (s *swarm) pause(ctx context.Context, span time.Duration) error {
	wait := time.NewTimer(span)
	defer wait.Stop()
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		for _, p := range s.idle {
			if err := p.endError(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wait.C:
			return nil
		case <-look.C:
		}
	}
}

// profileShare is the divisor for matches and players: one in so many is read by itself
// at the end.
const profileShare = 20

// finishTimeout bounds the time in which clients finish their matches.
const finishTimeout = 10 * time.Minute

// finish waits until the clients have finished their matches, and checks everything that
// is stored.
func (s *swarm) finish(ctx context.Context, r *Report) (err error) {
	ctx, cancel := context.WithTimeout(ctx, finishTimeout)
	defer cancel()
	s.stopIdle()
	s.group.Stop()
	s.starting.Wait()
	s.group.Wait()
	s.group.Disconnect()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.checker.JudgeRest()
	stored := checker.Stored{Checker: s.checker, Share: profileShare, Get: func(ctx context.Context, path string, v any) error {
		return client.GetJSON(ctx, s.nodes.urls[0]+"/v1/games/demo/"+path, v)
	}}
	if r.Compared, err = stored.CheckStored(ctx); err != nil || s.Behaviours == 0 {
		return err
	}
	return s.checkBehaviours(ctx)
}

// checkBehaviours waits until the counts of behaviours agree with the posted ones.
func (s *swarm) checkBehaviours(ctx context.Context) error {
	posted := s.group.Posted.Load()
	for until := time.Now().Add(30 * time.Second); ; {
		counts, err := s.nodes.behaviours(ctx)
		difference := checker.CheckBehaviours(posted, counts)
		if err != nil {
			difference = err.Error()
		}
		if difference == "" {
			s.mark("%d behaviours were posted: %+v", posted, counts)
			return nil
		}
		if time.Now().After(until) {
			s.checker.Violations.Add("%s", difference)
			return nil
		}
		if err := s.pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

// While this process collects garbage, it reads nothing for a tenth of a second. Answers
// then seem late. The limits are memory of the process in bytes. A process with as many
// connections as it may have files takes half a GiB.
const (
	memoryLimit          = 1 << 30
	measuringMemoryLimit = 3 << 30
)

// collectRarely makes the garbage collector of this process run only when there is much
// garbage.
func collectRarely() {
	debug.SetGCPercent(4000)
	debug.SetMemoryLimit(memoryLimit)
}

// collectNow runs the garbage collector now. It runs again when the memory reaches
// measuringMemoryLimit, which takes longer than a measurement of a minute or two.
func collectNow() {
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(measuringMemoryLimit)
	runtime.GC()
}
