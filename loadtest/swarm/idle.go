package swarm

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
	"laststand/loadtest/stats"
)

// IdleProcess is the name of the subprocess that keeps idle sessions. A process cannot
// have more connections than open files.
const IdleProcess = "swarm-idle"

// idlePlan is the input of a subprocess. The subprocess runs until its input ends.
type idlePlan struct {
	Servers      []string
	Tokens       bool // mint tokens; else the server makes guests
	IDs          string
	FirstAddress int // number of the first loopback address; -1: any address
	Sessions     int
	PerSecond    float64 // connections started per second
}

// idleUpdate is a line of the output of a subprocess, one each second.
type idleUpdate struct {
	Connected  int64
	Counts     map[string]int64 // since the start
	Violations []string         // since the start
}

// Idle runs a subprocess with idle sessions.
func Idle(*flag.FlagSet) func(context.Context) error {
	return func(ctx context.Context) error {
		collectRarely()
		return runIdle(ctx, os.Stdin, os.Stdout)
	}
}

func runIdle(ctx context.Context, in io.Reader, out io.Writer) error {
	var plan idlePlan
	input := json.NewDecoder(in)
	if err := input.Decode(&plan); err != nil {
		return err
	}
	recorder, found := stats.New(time.Hour), new(checker.Checker)
	c := players.Config{
		Servers: func() []string { return plan.Servers }, Checker: found, Stats: recorder,
		ReplyTimeout: 20 * time.Second, ConnectTimeout: 2 * time.Minute, ConnectsPerSecond: plan.PerSecond,
	}
	if plan.Tokens {
		c.Token = func(role, id string) (string, error) { return testenv.Token(role, plan.IDs+id) }
	}
	if plan.FirstAddress >= 0 {
		c.Dialer = dialerFrom(plan.FirstAddress)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // ends with the input, at the latest when the process ends
		_, _ = io.Copy(io.Discard, io.MultiReader(input.Buffered(), in))
		cancel()
	}()
	group := players.NewGroup(ctx, c)
	group.AddIdle(plan.Sessions)
	defer group.Wait()
	updates := json.NewEncoder(out)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
		u := idleUpdate{Connected: group.Connected.Load(), Counts: recorder.All().Counts}
		u.Violations, _ = found.Violations.All()
		if err := updates.Encode(u); err != nil {
			return err
		}
	}
	return nil
}

// idleProcess is a running subprocess with idle sessions.
type idleProcess struct {
	*testenv.Subprocess
	connected atomic.Int64
	reading   sync.WaitGroup

	mu     sync.Mutex
	newest idleUpdate
	err    error // why the output ended; nil: it has not
}

// startIdle starts as many subprocesses as n idle sessions need.
func (s *swarm) startIdle(ctx context.Context, n int) error {
	processes := (n + s.mostConnections() - 1) / s.mostConnections()
	for i := 0; n > 0; i++ {
		plan := idlePlan{
			Servers: s.nodes.urls, Tokens: len(s.Attach) == 0, IDs: fmt.Sprintf("idle%d_", i), FirstAddress: -1,
			Sessions: min(n, s.mostConnections()), PerSecond: s.Ramp / float64(processes),
		}
		if isLocal(s.nodes.urls) {
			plan.FirstAddress = (i + 1) * 30_000
		}
		n -= plan.Sessions
		child, err := testenv.StartSubprocess(ctx, IdleProcess)
		if err != nil {
			return err
		}
		p := &idleProcess{Subprocess: child}
		s.idle = append(s.idle, p)
		p.reading.Go(p.read)
		if err := json.NewEncoder(p).Encode(plan); err != nil {
			return err
		}
	}
	return nil
}

// read reads the updates of the subprocess until it ends.
func (p *idleProcess) read() {
	for updates := json.NewDecoder(p.Output()); ; {
		var u idleUpdate
		err := updates.Decode(&u)
		p.mu.Lock()
		if p.err = err; err == nil {
			p.newest = u
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
		p.connected.Store(u.Connected)
	}
}

// endError returns an error if the subprocess has ended.
func (p *idleProcess) endError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return nil
	}
	return fmt.Errorf("a process with idle sessions has ended: %w", p.err)
}

// stopIdle ends all subprocesses, and adds what they have found.
func (s *swarm) stopIdle() {
	for _, p := range s.idle {
		_ = p.End() // its violations say what was wrong
		p.reading.Wait()
		for _, line := range p.newest.Violations {
			s.checker.Violations.Add("%s", line)
		}
		for name, n := range p.newest.Counts {
			s.stats.Count(name, n)
		}
	}
	s.idle = nil
}
