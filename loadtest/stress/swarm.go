package stress

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
)

type swarm struct {
	SwarmConfig
	*run
	starting sync.WaitGroup // of duel players
}

// Swarm runs the load, and ends everything that it started. An error says that the run
// could not start. The report lists violations, slow answers and why a run was aborted.
func Swarm(ctx context.Context, c SwarmConfig) (*Report, error) {
	isAttached := len(c.Attach) > 0
	rules := &checker.Checker{ArenasCount: !isAttached, Strangers: isAttached, KeepAnswers: true}
	if !isAttached {
		rules.LimitMS, rules.RevealMS = swarmLimit.Milliseconds(), c.Reveal.Milliseconds()
	}
	c.Settings = c.nodeSettings()
	r, err := newRun(ctx, c.ClusterConfig, rules, max(time.Second, c.For/300))
	if err != nil {
		return nil, err
	}
	defer r.end()
	r.log("the nodes are %s", strings.Join(r.cluster.urls(), ","))
	s := &swarm{SwarmConfig: c, run: r}
	s.startClients(isAttached)
	return s.play(ctx), nil
}

func (s *swarm) startClients(isAttached bool) {
	c := players.Config{
		Servers: s.cluster.urls, Dialer: s.dialer, Checker: s.checker, Stats: s.stats, Seed: uint64(time.Now().UnixNano()),
		Habits:       players.Habits{Think: s.Think, SecondShare: 1. / 50, OutShare: 1. / 20},
		ReplyTimeout: 20 * time.Second, ConnectTimeout: 2 * time.Minute, SilenceTimeout: 3 * time.Minute,
		LateMatchWait: cmp.Or(s.LateMatchWait, 15*time.Second), ConnectsPerSecond: s.Ramp,
		Questions: s.Questions, Ranked: !isAttached, ReadInterval: time.Second,
	}
	if !isAttached {
		c.Token = testenv.Token
	}
	s.group = players.NewGroup(s.playing, c)
	for mode, n := range map[string]int{"buzzer": s.Buzzer, "survival": s.Survival, "race": s.Race} {
		for ; n > 1; n -= s.Seats { // one player alone has no arena
			s.group.AddArenas(players.Arenas{Mode: mode, MinPlayers: min(n, s.Seats), MaxPlayers: min(n, s.Seats), OwnPlayers: true, ExtraTime: true})
		}
	}
	s.starting.Go(func() { s.group.SetDuellists(s.Duellists) })
	s.group.AddReaders(s.Readers)
	if s.Behaviours > 0 && !isAttached {
		s.group.AddBehaviours(s.Behaviours)
	}
	s.group.AddWatchers(s.Watchers)
	s.group.AddIdle(s.Idle)
}

// profileShare is the share of matches and players that are read by themselves at the end.
const profileShare = 20

// play connects the clients, lets them play and stops them. If the run is aborted, it
// still reports everything up to then.
func (s *swarm) play(ctx context.Context) *Report {
	var k *spike
	compared, err := 0, s.connect(ctx)
	from := s.stats.Span() + 1
	switch {
	case err != nil:
	case s.Spike:
		k, err = s.runSpike(ctx)
	default:
		s.log("the load starts, for %v", s.For)
		err = pause(ctx, s.For)
	}
	to := s.stats.Span()
	if err == nil {
		s.starting.Wait()
		compared, err = s.finish(ctx, profileShare)
	}
	if err != nil {
		s.log("aborted: %v", err)
		s.stopPlaying()
		s.starting.Wait()
	}
	s.end()
	out := s.newReport(fmt.Sprintf("swarm of %d connections, %d of them play", s.connections(), s.players()))
	out.Compared = compared
	if err != nil {
		out.Fail("aborted: %v", err)
	}
	out.addPlay(s.run, from, to)
	if k != nil {
		out.addSpike(k)
	}
	return out.finish(&s.checker.Violations)
}

// connectStallTimeout bounds the time without a new connection while some are missing.
const connectStallTimeout = time.Minute

func (s *swarm) connect(ctx context.Context) error {
	want := int64(s.connections())
	for highest, since := int64(-1), time.Now(); ; {
		n := s.group.Connected.Load()
		if n >= want {
			s.log("%d are connected", n)
			return nil
		}
		if n > highest {
			highest, since = n, time.Now()
		}
		if time.Since(since) > connectStallTimeout {
			s.checker.Violations.Add("only %d of %d clients could connect", n, want)
			return nil
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
