package stress

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// phase is a span of time in a run with attackers.
type phase struct {
	name    string
	seconds float64
	control map[string]players.Quantiles // durations of the honest players, the control group
	shed    int64                        // honest reads and new guests that an overloaded server refused
	most    size                         // of the server
	refused map[string]int64             // attackers, by kind of refusal
	sent    int64                        // actions of attackers
}

// maxWarmUp is the longest time for which the honest players play before the
// measurement starts.
const maxWarmUp = 2 * time.Second

// attackAll runs all phases. It returns how many seconds the server took to recover.
func (a *attacked) attackAll(ctx context.Context) (recoveredS float64) {
	testenv.MustDo(testenv.Pause(ctx, min(maxWarmUp, a.Quiet)))
	a.before = testenv.Must(a.Nodes.All[0].Metrics(ctx))
	a.revoked = a.revokeTokens(ctx)
	a.runPhase(ctx, "none, before")
	for _, kind := range a.Kinds {
		if a.Each > 0 {
			a.runPhase(ctx, kind, kind)
		}
	}
	if len(a.Kinds) > 1 || a.Each == 0 {
		a.runPhase(ctx, "all together", a.Kinds...)
	}
	recoveredS = a.awaitRecovery(ctx)
	a.runPhase(ctx, "none, after")
	return recoveredS
}

// runPhase runs the given kinds of attackers together; without a kind it is quiet. It notes how
// well the server served the honest players during that time, and how large the server grew.
func (a *attacked) runPhase(ctx context.Context, name string, kinds ...string) {
	a.stats.Take() // earlier measurements belong to no phase
	startedAt, stopWatching := time.Now(), watchSize(ctx, a.Nodes.All[0])
	refused, err := a.attack(ctx, name, kinds)
	control := a.stats.Take()
	most, failed := stopWatching()
	testenv.MustDo(errors.Join(err, failed))
	p := phase{name, time.Since(startedAt).Seconds(), control.All(), control.Counts[players.Shed], most, refused, refused[actions]}
	delete(refused, actions)
	a.phases = append(a.phases, p)
	a.log("%s", p)
}

// attack runs some kinds of attackers at the same time, and returns everything that they counted.
// Without a kind it waits.
func (a *attacked) attack(ctx context.Context, phase string, kinds []string) (map[string]int64, error) {
	counts, run := players.NewRecorder(time.Hour), runAttackers
	if a.InProcess {
		run = runAttack
	}
	if len(kinds) == 0 {
		return nil, testenv.Pause(ctx, a.Quiet)
	}
	var attacks errgroup.Group
	for _, kind := range kinds {
		attacks.Go(func() error {
			result, err := run(ctx, a.order(kind, len(kinds)))
			for name, n := range result.Counts {
				counts.Count(name, n)
			}
			for _, line := range result.Violations {
				a.checker.Violations.Add("%s (%s)", line, phase)
			}
			return err
		})
	}
	err := attacks.Wait()
	return counts.All().Counts, err
}

// order returns the order for one kind when the given number of kinds runs together. All
// kinds together get a bounded rate, however many run.
func (a *attacked) order(kind string, together int) attackOrder {
	n := a.Nodes.All[0]
	o := attackOrder{
		Kind: kind, URL: n.URL, Ops: n.OpsURL, For: a.Each, PerSecond: a.PerSecond, Sockets: a.Sockets,
		Match: a.group.ArenaMatch(), Limits: a.Limits, Revoked: a.revoked, SlowTimeout: a.SlowTimeout, Addresses: a.Addresses,
	}
	if slices.ContainsFunc(attackKinds, func(k attackKind) bool { return k.name == kind && k.isSlow }) {
		o.For = max(a.Each, a.Slow)
	}
	if together > 1 {
		o.For = max(a.All, o.For)
		o.PerSecond = max(2*a.PerSecond/float64(together), 1)
	}
	return o
}

// awaitRecovery waits, at most RecoveryTimeout, until the server is as small as it was in
// the first phase. Each size that is still larger after that is a violation. It returns how
// many seconds that took.
func (a *attacked) awaitRecovery(ctx context.Context) (seconds float64) {
	for startedAt := time.Now(); ; {
		testenv.MustDo(a.Nodes.All[0].CollectGarbage(ctx))
		excess := testenv.Must(sizeOf(ctx, a.Nodes.All[0])).excess(a.phases[0].most, a.MoreMB)
		if len(excess) == 0 || time.Since(startedAt) > a.RecoveryTimeout {
			for _, line := range excess {
				a.checker.Violations.Add("%s", line)
			}
			return time.Since(startedAt).Seconds()
		}
		testenv.MustDo(testenv.Pause(ctx, time.Second))
	}
}

// faults lists why the server was too slow for honest players in a phase, or too large. It
// was slow if their 99th percentile is above floorMS and above twice that of the first phase,
// or if it refused honest requests. A floorMS of 0 means that nothing is checked.
func (p phase) faults(first phase, floorMS, mostMB float64) (all []string) {
	if floorMS == 0 {
		return nil
	}
	for _, kind := range []string{players.Answer, players.Board, players.Pong} {
		if now, before := p.control[kind].P99, first.control[kind].P99; now > max(2*before, floorMS) {
			all = append(all, fmt.Sprintf("p99 of %s %.1f ms, %.1f before the attacks", kind, now, before))
		}
	}
	if p.shed > 0 {
		all = append(all, fmt.Sprintf("%d honest reads and new guests were refused", p.shed))
	}
	if mb := p.most["MB of memory"]; mb > mostMB {
		all = append(all, fmt.Sprintf("%.0f MB in use; the limit is %.0f", mb, mostMB))
	}
	return all
}

// String formats the phase as a line.
func (p phase) String() string {
	names := slices.SortedFunc(maps.Keys(p.refused), func(a, b string) int { return int(p.refused[b] - p.refused[a]) })
	for i, refusal := range names {
		names[i] = fmt.Sprintf("%s×%d", refusal, p.refused[refusal])
	}
	return fmt.Sprintf("%-16s %3.0f s, answers p99 %.1f ms, %s", p.name, p.seconds, p.control[players.Answer].P99, strings.Join(names, ", "))
}

func (out *Report) addPhases(phases []phase) {
	table := out.Table("attack", "s", "sent/s", "answers", "p50 ms", "p99 ms", "reads p50 ms", "reads p99 ms", "MB", "goroutines", "sockets", "files")
	for _, p := range phases {
		answers, reads := p.control[players.Answer], p.control[players.Board]
		table.Add(p.name, p.seconds, float64(p.sent)/max(p.seconds, 1), float64(answers.N), answers.P50, answers.P99, reads.P50, reads.P99,
			p.most["MB of memory"], p.most["goroutines"], p.most["connections"], p.most["open files"])
	}
}
