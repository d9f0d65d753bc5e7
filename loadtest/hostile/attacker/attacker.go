// Package attacker runs hostile clients against a server while honest players use it. It
// reports how well the server served those players before, during and after the attacks.
// It also reports what became of the attacks, and whether the server recovered
// afterwards.
package attacker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
	"laststand/loadtest/hostile/attack"
	"laststand/loadtest/hostile/control"
)

// Config configures a run. All fields but Log are needed.
type Config struct {
	Server  *testenv.Node
	Admin   string // a token of the role
	Control control.Config
	Kinds   []string // of attackers: each alone, then all at once
	Attack  func(context.Context, attack.Order) (attack.Counts, error)

	Idle, Each, All time.Duration // of the idle before and after, of each kind (0: no kind runs alone), of all at once
	Slow            time.Duration // of kinds whose effect shows after seconds
	SlowExtra       time.Duration // how much longer slow clients may continue
	Return          time.Duration // the time that the server has to recover
	MoreMB          int64         // memory that it may then use beyond the idle
	PerSecond       float64       // actions a second of the attackers
	Sockets         int           // connections of a kind
	Sources         []string      // addresses that attackers come from
	Bounds          attack.Bounds // what the server grants an address

	Log func(line string)
}

// Settings returns a configuration of the attacked server. Its matches are quick. limits
// are YAML in braces; a limit that they do not name keeps its default.
func Settings(limits string) string {
	return "games:\n" +
		"  demo: {duel: {questions: 6, countdown_ms: 200, reveal_ms: 200, time_limit_ms: 5000, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {countdown_ms: 300, reveal_ms: 300, time_limit_ms: 5000, team_lockout_ms: 0}, " + attack.Games["demo"] + "}\n" +
		"  arcade: {duel: {questions: 4, countdown_ms: 700, reveal_ms: 400, time_limit_ms: 2500, bot_after_ms: 0, pair_limit_per_day: 0}, " + attack.Games[attack.Arcade] + "}\n" +
		"limits: " + limits + "\n"
}

// runner is one run.
type runner struct {
	Config
	control       *control.Group
	before        testenv.Metrics
	revokedTokens map[string]string // by the reason for which they are revoked
	report        Report
}

// Run runs all attacks. An error means that the run could not finish. The report lists
// what the run found.
func Run(ctx context.Context, c Config) (Report, error) {
	s := &runner{Config: c}
	if s.Log == nil {
		s.Log = func(string) {}
	}
	s.control = control.Start(ctx, c.Control)
	err := s.run(ctx)
	s.control.Stop()
	if err != nil {
		return s.report, err
	}
	s.checkControl(ctx)
	return s.report, s.checkServer(ctx)
}

// warm is the longest time for which the honest players play before the measurement
// starts.
const warm = 2 * time.Second

func (s *runner) run(ctx context.Context) (err error) {
	if err := pause(ctx, min(warm, s.Idle)); err != nil {
		return err
	}
	if s.before, err = s.Server.Metrics(ctx); err != nil {
		return err
	}
	if s.revokedTokens, err = s.revokeTokens(ctx); err != nil {
		return err
	}
	before, err := s.phase(ctx, "idle", func(ctx context.Context) error { return pause(ctx, s.Idle) })
	if err != nil {
		return err
	}
	s.report.Before = before
	s.Log(before.String())
	for _, kind := range s.alone() {
		if err := s.attack(ctx, kind, []string{kind}); err != nil {
			return err
		}
	}
	if len(s.Kinds) > 1 || s.Each == 0 {
		if err := s.attack(ctx, "all at once", s.Kinds); err != nil {
			return err
		}
	}
	if err := s.awaitReturn(ctx); err != nil {
		return err
	}
	s.report.After, err = s.phase(ctx, "after", func(ctx context.Context) error { return pause(ctx, s.Idle) })
	return err
}

// alone returns the kinds that run alone, before all run together.
func (s *runner) alone() []string {
	if s.Each == 0 {
		return nil
	}
	return s.Kinds
}

// attack runs the given kinds of attackers together.
func (s *runner) attack(ctx context.Context, name string, kinds []string) error {
	counts := make([]attack.Counts, len(kinds))
	phase, err := s.phase(ctx, name, func(ctx context.Context) error {
		var attacks errgroup.Group
		for i, kind := range kinds {
			attacks.Go(func() (err error) {
				counts[i], err = s.Attack(ctx, s.order(kind, len(kinds)))
				return err
			})
		}
		return attacks.Wait()
	})
	phase.Attacks = counts
	s.Log(phase.String())
	s.report.Phases = append(s.report.Phases, phase)
	return err
}

// order returns the order for one kind when as many kinds run at a time as beside says.
// All kinds together get a bounded rate, however many run.
func (s *runner) order(kind string, beside int) attack.Order {
	o := attack.Order{
		Kind: kind, URL: s.Server.URL, Ops: s.Server.Ops, Sources: s.Sources, For: s.Each, PerSecond: s.PerSecond, Sockets: s.Sockets,
		Match: s.control.Match(), Bounds: s.Bounds, Revoked: s.revokedTokens, SlowTimeout: s.SlowExtra,
	}
	if attack.IsSlow(kind) {
		o.For = max(s.Each, s.Slow)
	}
	if beside > 1 {
		o.For = max(s.All, o.For)
		o.PerSecond = max(2*s.PerSecond/float64(beside), 1)
	}
	return o
}

// phase calls do. It reports how well the server served the honest players during that
// time, and how large the server grew.
func (s *runner) phase(ctx context.Context, name string, do func(context.Context) error) (Phase, error) {
	s.control.Service() // earlier measurements belong to no phase
	watched, stop := context.WithCancel(ctx)
	var sizes sizes
	var watching errgroup.Group
	watching.Go(func() error { return s.watch(watched, &sizes) })
	began := time.Now()
	err := do(ctx)
	p := Phase{Name: name, Seconds: time.Since(began).Seconds(), Control: s.control.Service()}
	stop()
	if failed := watching.Wait(); err == nil {
		err = failed
	}
	p.Most = sizes.most
	return p, err
}

// awaitReturn waits, at most Return, until the server is as small as it was in the idle.
// Each size that is still larger after that is a violation.
func (s *runner) awaitReturn(ctx context.Context) error {
	until := time.Now().Add(s.Return)
	for {
		if _, err := s.Server.Heap(ctx); err != nil { // this collects the garbage
			return err
		}
		now, err := s.size(ctx)
		if err != nil {
			return err
		}
		above := now.above(s.report.Before.Most, s.MoreMB)
		if len(above) == 0 || time.Now().After(until) {
			s.report.addViolations(above...)
			s.report.Back = s.Return - time.Until(until)
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

// Sources returns n loopback addresses for attackers.
func Sources(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("127.2.%d.%d", i/250, 1+i%250)
	}
	return all
}

// Chosen returns the wanted kinds; if wanted is empty, it returns all kinds.
func Chosen(wanted []string) ([]string, error) {
	all := attack.Kinds()
	if len(wanted) == 0 {
		return all, nil
	}
	for _, kind := range wanted {
		if !slices.Contains(all, kind) {
			return nil, fmt.Errorf("there is no kind %q of attackers; there are %v", kind, all)
		}
	}
	return wanted, nil
}
