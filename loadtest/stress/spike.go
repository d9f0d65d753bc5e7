package stress

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// spike is the result of a spike to three times the sustainable load.
type spike struct {
	players int         // that produce the sustainable load
	before  measurement // at the sustainable load
	during  measurement // at three times as many players

	unclear    int64            // refusals without a clear code, in the spike
	refused    map[string]int64 // all refusals in the spike, by request and code
	recoveredS float64          // seconds from the end of the spike; -1: not recovered
}

// measurement is what was measured with a fixed number of players.
type measurement struct {
	players.Quantiles         // of answers
	rate              float64 // answers/s
	matches           int64   // counted once for each of their players
	refusals          int64   // with a clear code
}

// Limits and steps of a spike.
const (
	maxSustainable  = 100.0            // ms, p99 of answers at a sustainable load
	tryTime         = 8 * time.Second  // how long each load is tried
	acceptableMS    = 25.0             // p99 that is accepted in any case, because machines are noisy
	maxSlowdown     = 2.0              // of the p99 of admitted clients, as a multiple of the earlier p99
	recoveryTimeout = 10 * time.Second // from the end of the spike
	firstPlayers    = 100              // number of players in the first try
	leadSpans       = 2                // spans before a measurement, so that all have started
	stepFactor      = 1.3              // from one try to the next
	fewRefusals     = 0.05             // highest share of refused clients at a sustainable load; they enter some seconds later
)

// runSpike finds the sustainable load and then offers three times that load for a while.
func (s *swarm) runSpike(ctx context.Context) *spike {
	k := &spike{players: s.findSustainable(ctx)}
	// Events that occur every few seconds, such as the nodes' garbage collections, must be
	// in both measurements. So both take equally long.
	s.setDuellists(ctx, k.players, 2*recoveryTimeout) // players in excess must leave first
	k.before = s.measure(ctx, k.players, max(tryTime, s.For))
	testenv.FailIf(k.before.P99 >= maxSustainable, "%d players had a p99 of %.0f ms over %v, which is not sustainable: free the machine", k.players, k.before.P99, s.For)
	s.log("the spike: %d players want to play where %d do, for %v", 3*k.players, k.players, s.For)
	from := s.stats.Span() + 1
	s.setDuellists(ctx, 3*k.players, s.For)
	ended := s.stats.Span()
	k.during = s.measured(from, ended)
	k.countRefusals(s.stats.Between(from, ended).Counts)
	s.log("the spike is over: %s", k.during)
	s.setDuellists(ctx, k.players, 2*recoveryTimeout)
	k.recoveredS = s.recoveryTime(k, ended, s.stats.Span())
	s.log("recovered after %.0f s", k.recoveredS)
	return k
}

// findSustainable returns the highest number of players with a sustainable load.
func (s *swarm) findSustainable(ctx context.Context) (sustainable int) {
	var best measurement
	for n := max(s.Duellists, firstPlayers); ; n = int(float64(n)*stepFactor) / 2 * 2 {
		s.setDuellists(ctx, n, leadSpans*s.stats.Length()+time.Duration(float64(n)/s.Ramp*float64(time.Second)))
		s.awaitFewRefusals(ctx)
		m := s.measure(ctx, n, tryTime)
		if m.N == 0 || m.P99 >= maxSustainable || m.hasManyRefusals() || m.rate <= best.rate {
			testenv.FailIf(sustainable == 0, "not even %d players have a p99 below %.0f ms; use a smaller -duels", n, maxSustainable)
			return sustainable
		}
		best, sustainable = m, n
	}
}

// setDuellists changes the number of duel players, and waits. The run continues while
// players still start.
func (s *swarm) setDuellists(ctx context.Context, n int, wait time.Duration) {
	s.starting.Wait() // one change after another
	s.starting.Go(func() { s.group.SetDuellists(n) })
	testenv.MustDo(testenv.Pause(ctx, wait))
}

// awaitFewRefusals waits until few clients have been refused for some spans, within a
// bound. A node that is learning its capacity may at first ask some clients to retry.
func (s *swarm) awaitFewRefusals(ctx context.Context) {
	for until := time.Now().Add(2 * recoveryTimeout); time.Now().Before(until); testenv.MustDo(testenv.Pause(ctx, s.stats.Length())) {
		if now := s.stats.Span(); !s.measured(now-4, now).hasManyRefusals() {
			return
		}
	}
}

func (s *swarm) measure(ctx context.Context, count int, duration time.Duration) measurement {
	from := s.stats.Span() + 1
	testenv.MustDo(testenv.Pause(ctx, duration))
	m := s.measured(from, s.stats.Span())
	s.log("%d players: %s", count, m)
	return m
}

func (s *swarm) measured(from, to int) measurement {
	sum := s.stats.Between(from, to)
	m := measurement{Quantiles: sum.Quantiles(players.Answer), matches: sum.Quantiles(players.Found).N}
	m.rate = float64(m.N) / (float64(max(to-from, 1)) * s.stats.Length().Seconds())
	for name, n := range sum.Counts {
		if isClearRefusal(name) {
			m.refusals += n
		}
	}
	return m
}

// hasManyRefusals reports whether more than a few of the entering clients were refused.
func (m measurement) hasManyRefusals() bool {
	return float64(m.refusals) > fewRefusals*float64(m.matches+m.refusals)
}

// String formats the measurement for people.
func (m measurement) String() string {
	return fmt.Sprintf("%.0f answers/s, p50 %.1f ms, p99 %.1f ms, %d turned away", m.rate, m.P50, m.P99, m.refusals)
}

// clearRefusals are the outcomes that ask for a later retry. unclearFailures are faults, or give no
// reason; a status of 50x is one, too.
var (
	clearRefusals = []string{
		string(protocol.CodeOverloaded), string(protocol.CodeRateLimited), string(protocol.CodeUnavailable), "closed 1013", "status 503", "status 429",
	}
	unclearFailures = []string{"failed", "timeout", string(protocol.CodeInternal)}
)

// endsWith reports whether a counted name ends with one of the outcomes.
func endsWith(name string, outcomes []string) bool {
	return slices.ContainsFunc(outcomes, func(outcome string) bool { return strings.HasSuffix(name, " "+outcome) })
}

func isClearRefusal(name string) bool { return endsWith(name, clearRefusals) }

func isUnclearFailure(name string) bool {
	return endsWith(name, unclearFailures) || strings.Contains(name, " status 50") && !isClearRefusal(name)
}

func (k *spike) countRefusals(counts map[string]int64) {
	k.refused = make(map[string]int64)
	for name, n := range counts {
		isUnclear := isUnclearFailure(name)
		if isUnclear {
			k.unclear += n
		}
		if isUnclear || isClearRefusal(name) {
			k.refused[name] = n
		}
	}
}

// recoveryTime returns the seconds until the first of three spans in a row with few
// refusals and with answers as fast as before; -1: there are none.
func (s *swarm) recoveryTime(k *spike, from, to int) float64 {
	inRow := 0
	for n := from; n < to; n++ {
		m := s.measured(n, n+1)
		if inRow++; m.N == 0 || m.hasManyRefusals() || m.P99 > max(maxSlowdown*k.before.P99, acceptableMS) {
			inRow = 0
		}
		if inRow == 3 {
			return float64(n-2-from) * s.stats.Length().Seconds()
		}
	}
	return -1
}

// addSpike adds the figures of a spike, and the limits that were exceeded.
func (out *Report) addSpike(k *spike) {
	out.Line("spike     before, with %d players: %s\n          during, with %d players: %s\n          recovered after %.0f s",
		k.players, k.before, 3*k.players, k.during, k.recoveredS)
	for _, name := range slices.Sorted(maps.Keys(k.refused)) {
		out.Line("          refused: %-32s %10d", name, k.refused[name])
	}
	highest := max(maxSlowdown*k.before.P99, acceptableMS)
	out.FailIf(k.during.P99 > highest, "p99 of admitted players is %.1f ms in the spike and %.1f before; the limit is %.1f", k.during.P99, k.before.P99, highest)
	out.FailIf(k.during.refusals == 0, "no client was turned away in the spike")
	out.FailIf(k.unclear > 0, "%d clients were turned away without a clear code", k.unclear)
	out.FailIf(k.recoveredS < 0 || k.recoveredS > recoveryTimeout.Seconds(), "recovered after %.0f s (-1: not recovered); the limit is %.0f", k.recoveredS, recoveryTimeout.Seconds())
}
