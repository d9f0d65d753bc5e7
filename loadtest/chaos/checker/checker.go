// Package checker plays duels and arenas on many nodes while it kills, stalls and
// drains nodes. It checks everything the players saw and everything the server has
// stored against the wire contract. It knows the server only as a program and by that
// contract. Start reading at Run.
package checker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	player "laststand/loadtest/client"
)

// Config configures a run. All fields but Log are needed.
type Config struct {
	Server          Command
	Redis, Database string // values of --redis and --database
	Dir             string // for the nodes' settings and logs
	Nodes           int    // at least 2
	Players         int
	Arenas          int // in addition to the duels; buzzer and survival take turns

	Kills, Stalls, Drains int
	For                   time.Duration // of faults and new duels; matches that have started are played on
	Seed                  uint64        // of the faults, and of the players' choices
	Log                   func(line string)
}

// checker is one run.
type checker struct {
	Config
	fleet      *fleet
	solutions  player.Solutions
	records    records
	violations violations
	counts     counts
	clock      clock
	meter      meter
	seats      chan *seat // in arenas, for contenders that are free
	closing    atomic.Bool
	joinMu     sync.Mutex // held by the contender that joins at the end
	began      time.Time
}

// settleWithin bounds how long the stored results may take to agree with the played
// matches, after the last match.
const settleWithin = time.Minute

// Run plays one run and ends everything that it started. An error says that the run
// could not be played. The report lists the violations.
func Run(ctx context.Context, c Config) (Report, error) {
	settings, err := writeSettings(c.Dir)
	if err != nil {
		return Report{}, err
	}
	if c.Log == nil {
		c.Log = func(string) {}
	}
	o := &checker{Config: c, seats: make(chan *seat, c.Players), began: time.Now()}
	o.fleet = newFleet(ctx, c, settings, &o.violations)
	defer o.fleet.stop()
	if err := o.fleet.start(); err != nil {
		return Report{}, err
	}
	o.log("%d nodes serve", c.Nodes)
	contenders, err := o.gather(ctx)
	if err != nil {
		return Report{}, err
	}
	if err := o.play(ctx, contenders); err != nil {
		return Report{}, err
	}
	o.log("all has been played; checking what is kept")
	o.checkMatches()
	if err := o.checkStored(ctx); err != nil {
		return Report{}, err
	}
	o.fleet.stop()
	return o.report(contenders), nil
}

// play lets all contenders play until the time and all faults are over. After that each
// contender joins once more.
func (o *checker) play(ctx context.Context, contenders []*contender) error {
	defer func() {
		for _, c := range contenders {
			c.Close()
		}
	}()
	o.began = time.Now() // the start of the nodes does not count
	defer o.meter.start(ctx)()
	var playing errgroup.Group
	for _, c := range contenders {
		playing.Go(func() error { return c.campaign(ctx) })
	}
	var events errgroup.Group
	events.Go(func() error { return o.injectFaults(ctx) })
	for number := range hosts {
		events.Go(func() error { return o.host(ctx, number) })
	}
	events.Go(func() error { return pause(ctx, o.For) })
	err := events.Wait()
	o.log("no new matches")
	o.closing.Store(true)
	if played := playing.Wait(); err == nil {
		err = played
	}
	if err != nil {
		return err
	}
	for _, c := range contenders {
		playing.Go(func() error { return c.joinAgain(ctx) })
	}
	return playing.Wait()
}

// log reports the progress of the run.
func (o *checker) log(format string, args ...any) {
	o.Log(fmt.Sprintf("%6.1f s  ", time.Since(o.began).Seconds()) + fmt.Sprintf(format, args...))
}

// dice returns random numbers that depend on the seed and on who.
func (o *checker) dice(who uint64) *rand.Rand {
	return rand.New(rand.NewPCG(o.Seed, who)) //nolint:gosec // it has to be the same again for a seed
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// These are the settings of the matches, in milliseconds.
const (
	limitMS     = 2500
	revealMS    = 400
	countdownMS = 600
	questions   = 4
)

// writeSettings writes the configuration of the nodes, and returns its path.
func writeSettings(dir string) (string, error) {
	path := filepath.Join(dir, "nodes.yaml")
	return path, os.WriteFile(path, fmt.Appendf(nil, `games:
  demo:
    duel: {questions: %d, time_limit_ms: %d, countdown_ms: %d, reveal_ms: %d, bot_after_ms: 0, pair_limit_per_day: 0}
    arena: {time_limit_ms: %d, countdown_ms: %d, reveal_ms: %d}
limits: {messages_per_second: 1000, guests_per_minute_per_address: 0, reads_per_second_per_address: 0,
  arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0,
  connections_per_address: 0, hellos_per_minute: 0, hellos_per_minute_per_address: 0, max_concurrent_requests: 0, max_scheduler_lag_ms: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`, questions, limitMS, countdownMS, revealMS, limitMS, countdownMS, revealMS), 0o600)
}
