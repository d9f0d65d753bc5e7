package hostile

import (
	"context"
	"fmt"
	"net"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/client"
	"laststand/loadtest/hostile/attack"
	"laststand/loadtest/players"
	"laststand/loadtest/stats"
)

// run is one run.
type run struct {
	Config
	checker *checker.Checker
	control *players.Group    // the honest players
	stats   *stats.Recorder   // of the honest players; each phase takes what it holds
	before  testenv.Metrics   // of the server, before the attacks
	revoked map[string]string // tokens, by the reason why they are not valid any more
	report  Report
}

// Run runs all attacks. An error means that the run could not finish. The report lists
// what the run found.
func Run(ctx context.Context, c Config) (Report, error) {
	r := &run{Config: c, checker: &checker.Checker{LimitMS: attack.LimitMS}, stats: stats.New(time.Hour)}
	if r.Log == nil {
		r.Log = func(string, ...any) {}
	}
	r.startControl(ctx)
	err := r.attackAll(ctx)
	r.control.Stop()
	r.control.Wait()
	r.control.Disconnect()
	if err != nil {
		return r.report, err
	}
	r.checker.JudgeRest()
	stored := checker.Stored{Checker: r.checker, Share: 1, Get: func(ctx context.Context, path string, v any) error {
		return client.GetJSON(ctx, c.Server.URL+"/v1/games/demo/"+path, v)
	}}
	if _, err := stored.CheckStored(ctx); err != nil {
		return r.report, err
	}
	listed, count := r.checker.Violations.All()
	for _, line := range listed {
		r.report.addViolations("honest: " + line)
	}
	if count > len(listed) {
		r.report.addViolations(fmt.Sprintf("honest: and %d more", count-len(listed)))
	}
	r.report.Duels = r.checker.Summary().Matches["duel"]
	return r.report, r.checkServer(ctx)
}

// startControl starts the honest players. They tolerate nothing: a closed connection and
// a missing reply are both violations.
func (r *run) startControl(ctx context.Context) {
	r.control = players.NewGroup(ctx, players.Config{
		Servers: func() []string { return []string{r.Server.URL} }, Token: testenv.Token, Checker: r.checker, Stats: r.stats,
		Dialer: func(n int) *net.Dialer { return client.FromAddress(62500 + n/10) }, // 127.1.0.1 and up: no attacker uses these
		Habits: players.Habits{Think: 200 * time.Millisecond}, Strict: true, Questions: 10,
		ReplyTimeout: 10 * time.Second, ConnectTimeout: 10 * time.Second, SilenceTimeout: 15 * time.Second, LateMatchWait: time.Second,
		ReadInterval: 300 * time.Millisecond, PingInterval: 400 * time.Millisecond, NewGuestPeriod: 1500 * time.Millisecond,
	})
	r.control.SetDuellists(r.Duellists)
	r.control.AddArenas(players.Arenas{Mode: "buzzer", MinPlayers: r.Seats, MaxPlayers: r.Seats, OwnPlayers: true})
	r.control.AddReaders(r.Readers)
	r.control.AddWatchers(r.Watchers)
	r.control.AddNewGuests()
}

// maxWarmUp is the longest time for which the honest players play before the
// measurement starts.
const maxWarmUp = 2 * time.Second

// attackAll runs all phases.
func (r *run) attackAll(ctx context.Context) (err error) {
	if err := pause(ctx, min(maxWarmUp, r.Quiet)); err != nil {
		return err
	}
	if r.before, err = r.Server.Metrics(ctx); err != nil {
		return err
	}
	if r.revoked, err = r.revokeTokens(ctx); err != nil {
		return err
	}
	quiet := func(ctx context.Context) error { return pause(ctx, r.Quiet) }
	if r.report.Before, err = r.phase(ctx, "none, before", quiet); err != nil {
		return err
	}
	r.Log("%s", r.report.Before)
	for _, kind := range r.Kinds {
		if r.Each == 0 {
			break
		}
		if err := r.attack(ctx, kind, kind); err != nil {
			return err
		}
	}
	if len(r.Kinds) > 1 || r.Each == 0 {
		if err := r.attack(ctx, "all together", r.Kinds...); err != nil {
			return err
		}
	}
	if err := r.awaitRecovery(ctx); err != nil {
		return err
	}
	r.report.After, err = r.phase(ctx, "none, after", quiet)
	return err
}

// attack runs the given kinds of attackers together.
func (r *run) attack(ctx context.Context, name string, kinds ...string) error {
	counts := make([]attack.Counts, len(kinds))
	phase, err := r.phase(ctx, name, func(ctx context.Context) error {
		var attacks errgroup.Group
		for i, kind := range kinds {
			attacks.Go(func() (err error) {
				counts[i], err = r.Attack(ctx, r.order(kind, len(kinds)))
				return err
			})
		}
		return attacks.Wait()
	})
	phase.Attacks = counts
	r.Log("%s", phase)
	r.report.Phases = append(r.report.Phases, phase)
	return err
}

// order returns the order for one kind when the given number of kinds runs together. All
// kinds together get a bounded rate, however many run.
func (r *run) order(kind string, together int) attack.Order {
	o := attack.Order{
		Kind: kind, URL: r.Server.URL, Ops: r.Server.OpsURL, For: r.Each, PerSecond: r.PerSecond, Sockets: r.Sockets,
		Match: r.control.ArenaMatch(), Limits: r.Limits, Revoked: r.revoked, SlowTimeout: r.SlowTimeout,
	}
	for i := range r.Addresses {
		o.Addresses = append(o.Addresses, fmt.Sprintf("127.2.%d.%d", i/250, 1+i%250))
	}
	if attack.IsSlow(kind) {
		o.For = max(r.Each, r.Slow)
	}
	if together > 1 {
		o.For = max(r.All, o.For)
		o.PerSecond = max(2*r.PerSecond/float64(together), 1)
	}
	return o
}

// phase calls do. It reports how well the server served the honest players during that
// time, and how large the server grew.
func (r *run) phase(ctx context.Context, name string, do func(context.Context) error) (Phase, error) {
	r.stats.Take() // earlier measurements belong to no phase
	watched, stop := context.WithCancel(ctx)
	p := Phase{Name: name}
	var watching errgroup.Group
	watching.Go(func() error { return r.watchSize(watched, &p.Most) })
	startedAt := time.Now()
	err := do(ctx)
	p.Seconds = time.Since(startedAt).Seconds()
	control := r.stats.Take()
	p.Control, p.Shed = control.All(), control.Counts[players.Shed]
	stop()
	if failed := watching.Wait(); err == nil {
		err = failed
	}
	return p, err
}

// awaitRecovery waits, at most RecoveryTimeout, until the server is as small as it was in
// the first phase. Each size that is still larger after that is a violation.
func (r *run) awaitRecovery(ctx context.Context) error {
	startedAt := time.Now()
	for {
		if _, err := r.Server.Heap(ctx); err != nil { // this runs the garbage collector
			return err
		}
		now, err := r.size(ctx)
		if err != nil {
			return err
		}
		excess := now.excess(r.report.Before.Most, r.MoreMB)
		if len(excess) == 0 || time.Since(startedAt) > r.RecoveryTimeout {
			r.report.addViolations(excess...)
			r.report.RecoveredS = time.Since(startedAt).Seconds()
			return nil
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
