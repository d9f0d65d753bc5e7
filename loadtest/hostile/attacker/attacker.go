// Package attacker lets hostile clients at a server that honest players are on, and
// tells what those had of it before, meanwhile and afterwards, what became of
// the attacks, and whether the server is then what it was.
package attacker

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/loadtest/harness"
	"laststand/loadtest/hostile/attack"
	"laststand/loadtest/hostile/control"
)

// Config says what a siege is made of. All fields but Say are needed.
type Config struct {
	Server  *harness.Server
	Admin   string // a token of the role
	Control control.Config
	Kinds   []string // of attackers: one after the other, and then all at once
	Attack  func(context.Context, attack.Order) (attack.Counts, error)

	Idle, Each, All time.Duration // of the calm before and after, of each kind (0: none by itself), of all at once
	Slow            time.Duration // of kinds that show after seconds
	SlowExtra       time.Duration // how much longer dawdlers are let go on
	Return          time.Duration // by when the server is what it was
	MoreMB          int64         // that it may have in use by then beyond the calm
	PerSecond       float64       // what attackers do
	Sockets         int           // connections of a kind
	Sources         []string      // addresses that attackers come from
	Bounds          attack.Bounds // what the server grants an address

	Log func(line string)
}

// Settings is a configuration of the attacked server: matches are quick; limits
// are YAML in braces, the defaults but for what they say.
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
	before        harness.Metrics
	revokedTokens map[string]string // tokens, by what bars them
	report        Report
}

// Run carries a siege out. The error says that it could not be carried out; what
// was found is in the report.
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

// warm is how long the crowd is at it before anything is measured, at the most.
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
	before, err := s.phase(ctx, "calm", func(ctx context.Context) error { return pause(ctx, s.Idle) })
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

// alone are the kinds that come by themselves first.
func (s *runner) alone() []string {
	if s.Each == 0 {
		return nil
	}
	return s.Kinds
}

// attack lets some kinds in for a while.
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

// order is what a kind does beside so many: what all do is bounded, whether they
// are one or all.
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

// phase does something and tells what the honest had of the server meanwhile,
// and how large that grew.
func (s *runner) phase(ctx context.Context, name string, do func(context.Context) error) (Phase, error) {
	s.control.Service() // what was until now belongs to no phase
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

// awaitReturn waits until the server is what it was in the calm, within Return.
// What it did not come back to is untrue.
func (s *runner) awaitReturn(ctx context.Context) error {
	until := time.Now().Add(s.Return)
	for {
		if err := s.Server.Collect(ctx, s.Admin); err != nil {
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

// Sources are n addresses of loopback for attackers.
func Sources(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("127.2.%d.%d", i/250, 1+i%250)
	}
	return all
}

// Chosen are the kinds of a list that is wanted; none: all of them.
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
