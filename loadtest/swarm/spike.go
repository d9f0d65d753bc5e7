package swarm

import (
	"context"
	"fmt"
	"time"

	"laststand/loadtest/players"
	"laststand/loadtest/stats"
)

// Spike is the result of a spike to three times the sustainable load.
type Spike struct {
	Sustainable float64         `json:"sustainable"` // answers/s
	Players     int             `json:"players"`     // that produce this load
	Offered     int             `json:"offered"`     // players in the spike
	Before      stats.Quantiles `json:"before"`      // answers, at the sustainable load
	During      stats.Quantiles `json:"during"`
	Rate        float64         `json:"rate"` // answers/s in the spike
	Used        string          `json:"used"` // cores in the spike
	Shed        int64           `json:"shed"` // refusals with a clear code, in the spike
	Unclear     int64           `json:"unclear"`

	Refused map[string]int64 `json:"refused"` // all refusals, by request and code

	RecoveredS float64  `json:"recovered_s"` // seconds from the end of the spike; -1: not recovered
	Failures   []string `json:"failures"`    // limits that were exceeded; none: passed
}

// Limits and steps of a spike.
const (
	maxSlowdown     = 2.0              // of the p99 of admitted clients, as a multiple of the earlier p99
	recoveryTimeout = 10 * time.Second // from the end of the spike
	firstPlayers    = 100              // number of players in the first try
	leadSpans       = 2                // spans before a measurement, so that all have started
	coarseStep      = 1.4              // factor from one try to the next
	fineStep        = 1.2              // factor of the last try, about half the coarse step
	fewRefusals     = 0.05             // highest share of refused clients at a sustainable load; they enter some seconds later
)

// runSpike finds the sustainable load and then offers three times that load for a while.
func (s *swarm) runSpike(ctx context.Context) (k *Spike, err error) {
	k = &Spike{Players: s.Duellists}
	if err := s.findSustainable(ctx, k); err != nil {
		return nil, err
	}
	if err := s.measureBefore(ctx, k); err != nil {
		return nil, err
	}
	k.Offered = 3 * k.Players
	s.mark("the spike: %d players want to play where %d do, for %v", k.Offered, k.Players, s.For)
	from := s.stats.Span() + 1
	if err := s.setDuellists(ctx, k.Offered, s.For); err != nil {
		return nil, err
	}
	ended := s.stats.Span()
	during := s.measured(from, ended)
	k.During, k.Rate, k.Used = during.Quantiles, during.rate, s.describeUse(from, ended)
	k.countRefusals(s.stats.Between(from, ended).Counts)
	s.mark("the spike is over: %.0f answers/s, p99 %.1f ms, %d shed; %s", k.Rate, k.During.P99, k.Shed, k.Used)
	if err := s.setDuellists(ctx, k.Players, 2*recoveryTimeout); err != nil {
		return nil, err
	}
	k.RecoveredS = s.recoveryTime(k, ended, s.stats.Span())
	k.check(float64(s.Slack.Milliseconds()))
	s.mark("recovered after %.0f s", k.RecoveredS)
	return k, nil
}

// measureBefore measures the sustainable load for as long as the spike lasts. Events that
// occur every few seconds, such as the nodes' garbage collections, are then in both. The
// collections of the clients are in neither.
func (s *swarm) measureBefore(ctx context.Context, k *Spike) error {
	collectNow()
	t, err := s.measure(ctx, k.Players, max(s.Step, s.For))
	if err == nil && t.P99 >= float64(s.Bound.Milliseconds()) {
		err = fmt.Errorf("%d players had a p99 of %.0f ms over %v, which is not sustainable: free the machine, or use a lower -rate", k.Players, t.P99, s.For)
	}
	k.Sustainable, k.Before = t.rate, t.Quantiles
	return err
}

// countRefusals adds the refusals among the counts.
func (k *Spike) countRefusals(counts map[string]int64) {
	k.Refused = make(map[string]int64)
	for name, n := range counts {
		switch {
		case isClearRefusal(name):
			k.Shed += n
		case isUnclearFailure(name):
			k.Unclear += n
		default:
			continue
		}
		k.Refused[name] = n
	}
}

// findSustainable finds the highest number of players with answers below the bound. If a
// rate is configured, it takes the players that reach it.
func (s *swarm) findSustainable(ctx context.Context, k *Spike) error {
	if s.Rate > 0 {
		return s.reachRate(ctx, k)
	}
	missed := 0
	for n := max(k.Players, firstPlayers); missed < 2; n = even(float64(n) * coarseStep) {
		holds, err := s.isSustainable(ctx, k, n)
		if err != nil {
			return err
		}
		if missed++; holds {
			missed = 0
		}
	}
	if k.Sustainable == 0 {
		return fmt.Errorf("not even %d players have answers within %v; use a smaller -duels or a larger -bound", firstPlayers, s.Bound)
	}
	// the excess players must leave first
	if err := s.setDuellists(ctx, k.Players, 2*recoveryTimeout); err != nil {
		return err
	}
	if holds, err := s.isSustainable(ctx, k, even(float64(k.Players)*fineStep)); err != nil || holds {
		return err
	}
	return s.remeasure(ctx, k)
}

// reachRate finds the number of players that reach the configured rate. It measures the
// current number first, because the answers/s of a player depend on the game.
func (s *swarm) reachRate(ctx context.Context, k *Spike) error {
	k.Players = max(k.Players, firstPlayers)
	first, err := s.tryPlayers(ctx, k.Players)
	if err == nil && first.rate == 0 {
		err = fmt.Errorf("%d players had no answers within %v; use a longer -step", k.Players, s.Step)
	}
	if err != nil {
		return err
	}
	k.Players = even(float64(k.Players) * s.Rate / first.rate)
	_, err = s.tryPlayers(ctx, k.Players)
	return err
}

// remeasure measures the sustainable load again, now that the nodes have seen more. If the
// load is no longer sustainable, it reduces the players.
func (s *swarm) remeasure(ctx context.Context, k *Spike) error {
	for ; k.Players >= firstPlayers; k.Players = even(float64(k.Players) / fineStep) {
		if err := s.setDuellists(ctx, k.Players, 2*recoveryTimeout); err != nil {
			return err
		}
		k.Sustainable = 0
		if holds, err := s.isSustainable(ctx, k, k.Players); err != nil || holds {
			return err
		}
	}
	return fmt.Errorf("a sustainable load was not sustainable when it was measured again: free the machine, or use a longer -step")
}

// isSustainable tries a number of players. They are sustainable if answers stay below the
// bound, few clients are refused, and the rate is higher than before.
func (s *swarm) isSustainable(ctx context.Context, k *Spike, players int) (bool, error) {
	t, err := s.tryPlayers(ctx, players)
	if err != nil || t.N == 0 || t.P99 >= float64(s.Bound.Milliseconds()) || t.hasManyRefusals() || t.rate <= k.Sustainable {
		return false, err
	}
	k.Sustainable, k.Players = t.rate, players
	return true, nil
}

func even(n float64) int { return max(int(n)/2*2, 2) }

// measurement is the result of one measurement with a fixed number of players.
type measurement struct {
	stats.Quantiles         // of answers
	rate            float64 // answers/s
	matches         int64   // counted once for each of their players
	refusals        int64   // with a clear code
}

// hasManyRefusals reports whether more than a few of the entering clients were refused.
func (t measurement) hasManyRefusals() bool {
	return float64(t.refusals) > fewRefusals*float64(t.matches+t.refusals)
}

// tryPlayers runs so many players for one step and measures them.
func (s *swarm) tryPlayers(ctx context.Context, players int) (t measurement, err error) {
	if err := s.setDuellists(ctx, players, leadSpans*s.stats.Length()+time.Duration(float64(players)/s.Ramp*float64(time.Second))); err != nil {
		return t, err
	}
	if err := s.awaitFewRefusals(ctx); err != nil {
		return t, err
	}
	return s.measure(ctx, players, s.Step)
}

// measure measures the running players for a while.
func (s *swarm) measure(ctx context.Context, players int, duration time.Duration) (t measurement, err error) {
	from := s.stats.Span() + 1
	if err := s.pause(ctx, duration); err != nil {
		return t, err
	}
	t = s.measured(from, s.stats.Span())
	s.mark("%d players: %.0f answers/s, p50 %.1f ms, p99 %.1f ms, %d turned away; %s", players, t.rate, t.P50, t.P99, t.refusals, s.describeUse(from, s.stats.Span()))
	return t, nil
}

// awaitFewRefusals waits until few clients have been refused for some spans, within a
// bound. A node that is learning its capacity may at first ask some clients to retry.
func (s *swarm) awaitFewRefusals(ctx context.Context) error {
	for until := time.Now().Add(2 * recoveryTimeout); time.Now().Before(until); {
		now := s.stats.Span()
		if !s.measured(now-4, now).hasManyRefusals() {
			return nil
		}
		if err := s.pause(ctx, s.stats.Length()); err != nil {
			return err
		}
	}
	return nil
}

// measured returns the measurement between two spans.
func (s *swarm) measured(from, to int) measurement {
	sum := s.stats.Between(from, to)
	t := measurement{Quantiles: sum.Quantiles(players.Answer), matches: sum.Quantiles(players.Found).N}
	t.rate = float64(t.N) / (float64(max(to-from, 1)) * s.stats.Length().Seconds())
	for name, n := range sum.Counts {
		if isClearRefusal(name) {
			t.refusals += n
		}
	}
	return t
}

// setDuellists changes the number of duel players, and waits. The run goes on while
// players still start.
func (s *swarm) setDuellists(ctx context.Context, n int, wait time.Duration) error {
	s.starting.Wait() // one change after another
	s.starting.Go(func() { s.group.SetDuellists(n) })
	return s.pause(ctx, wait)
}

// recoveryTime returns the seconds until the first of three spans in a row with few
// refusals and with answers as fast as before; -1: there are none.
func (s *swarm) recoveryTime(k *Spike, from, to int) float64 {
	inRow := 0
	for n := from; n < to; n++ {
		t := s.measured(n, n+1)
		if inRow++; t.N == 0 || t.hasManyRefusals() || t.P99 > max(maxSlowdown*k.Before.P99, float64(s.Slack.Milliseconds())) {
			inRow = 0
		}
		if inRow == 3 {
			return float64(n-2-from) * s.stats.Length().Seconds()
		}
	}
	return -1
}

// check records the limits that were exceeded.
func (k *Spike) check(slackMS float64) {
	if highest := max(maxSlowdown*k.Before.P99, slackMS); k.During.P99 > highest {
		k.Failures = append(k.Failures, fmt.Sprintf("p99 of admitted players is %.1f ms in the spike and %.1f before; the limit is %.1f", k.During.P99, k.Before.P99, highest))
	}
	if k.Shed == 0 {
		k.Failures = append(k.Failures, "no client was turned away in the spike")
	}
	if k.Unclear > 0 {
		k.Failures = append(k.Failures, fmt.Sprintf("%d clients were turned away without a clear code", k.Unclear))
	}
	if k.RecoveredS < 0 || k.RecoveredS > recoveryTimeout.Seconds() {
		k.Failures = append(k.Failures, fmt.Sprintf("recovered after %.0f s (-1: not recovered); the limit is %.0f", k.RecoveredS, recoveryTimeout.Seconds()))
	}
}
