package runner

import (
	"context"
	"fmt"
	"time"

	"laststand/loadtest/swarm/clients"
	"laststand/loadtest/swarm/stats"
)

// Spike is the result of a spike to three times the sustainable load.
type Spike struct {
	Sustainable float64         `json:"sustainable"` // answers/s
	Players     int             `json:"players"`     // that produce this load
	Offered     int             `json:"offered"`     // players in the spike
	Before      stats.Quantiles `json:"before"`      // answers, at the sustainable load
	During      stats.Quantiles `json:"during"`
	Rate        float64         `json:"rate"` // answers/s in the spike
	Used        string          `json:"took"` // cores in the spike
	Shed        int64           `json:"shed"` // refusals with a clear code, in the spike
	Unclear     int64           `json:"unclear"`

	Refused map[string]int64 `json:"refused"` // all refusals, by request and code

	RecoveredS float64  `json:"recovered_s"` // seconds from the end of the spike; -1: not recovered
	Failures   []string `json:"failures"`    // limits that were exceeded; none: passed
}

// Limits and steps of a spike.
const (
	maxSlowdown   = 2.0              // of the p99 of admitted clients, as a multiple of the earlier p99
	recoveryLimit = 10 * time.Second // from the end of the spike
	firstPlayers  = 100              // number of players in the first try
	lead          = 2                // spans before a measurement, so that all have started
	coarseStep    = 1.4              // factor from one try to the next
	fineStep      = 1.2              // factor of the last try, about half the coarse step
	fewRefusals   = 0.05             // highest share of refused clients at a sustainable load; they enter some seconds later
)

// runSpike finds the sustainable load and then offers three times that load for a while.
func (d *runner) runSpike(ctx context.Context) (s *Spike, err error) {
	s = &Spike{Players: d.Duellists}
	if err := d.findSustainable(ctx, s); err != nil {
		return nil, err
	}
	if err := d.measureBefore(ctx, s); err != nil {
		return nil, err
	}
	s.Offered = 3 * s.Players
	d.logMark("the spike: %d players want to play where %d do, for %v", s.Offered, s.Players, d.For)
	from := d.series.Span(time.Now()) + 1
	if err := d.setDuellists(ctx, s.Offered, d.For); err != nil {
		return nil, err
	}
	to := d.series.Span(time.Now())
	during := d.series.Between(from, to)
	s.During = during.Quantiles(stats.Answer)
	s.Rate, s.Used = d.measured(from, to).rate, d.usedBetween(from, to).String()
	s.countRefusals(during.Counts)
	d.logMark("the spike is over: %.0f answers/s, p99 %.1f ms, %d shed; %s", s.Rate, s.During.P99, s.Shed, s.Used)
	ended := d.series.Span(time.Now())
	if err := d.setDuellists(ctx, s.Players, 2*recoveryLimit); err != nil {
		return nil, err
	}
	s.RecoveredS = d.recoveryTime(s, ended, d.series.Span(time.Now()))
	s.judge(float64(d.Slack.Milliseconds()))
	d.logMark("recovered after %.0f s", s.RecoveredS)
	return s, nil
}

// measureBefore measures the sustainable load for as long as the spike lasts. Events that
// occur every few seconds, such as the nodes' garbage collections, are then in both. The
// collections of the clients are in neither.
func (d *runner) measureBefore(ctx context.Context, s *Spike) error {
	for _, l := range d.workers {
		if err := l.send(clients.Command{Collect: true}); err != nil {
			return err
		}
	}
	if err := d.pause(ctx, d.series.Every()); err != nil { // until the collection is done
		return err
	}
	t, err := d.measure(ctx, s.Players, max(d.Step, d.For))
	if err == nil && t.P99 >= float64(d.Bound.Milliseconds()) {
		err = fmt.Errorf("%d players had a p99 of %.0f ms over %v, which is not sustainable: the machine does other things too, or give a lower -rate", s.Players, t.P99, d.For)
	}
	s.Sustainable, s.Before = t.rate, t.Quantiles
	return err
}

// countRefusals adds the refusals among the counts.
func (s *Spike) countRefusals(counts map[string]int64) {
	s.Refused = make(map[string]int64)
	for name, n := range counts {
		switch {
		case isClearRefusal(name):
			s.Shed += n
		case isUnclearFailure(name):
			s.Unclear += n
		default:
			continue
		}
		s.Refused[name] = n
	}
}

// findSustainable finds the highest number of players with answers below the bound. If a
// rate is configured, it takes the players that reach it.
func (d *runner) findSustainable(ctx context.Context, s *Spike) error {
	if d.Rate > 0 {
		// measure the current number first, since the answers/s of a player depend on the game
		s.Players = max(s.Players, firstPlayers)
		first, err := d.tryPlayers(ctx, s.Players)
		if err != nil {
			return err
		}
		if first.rate == 0 {
			return fmt.Errorf("%d players had no answers within %v: give a longer -step", s.Players, d.Step)
		}
		s.Players = even(float64(s.Players) * d.Rate / first.rate)
		_, err = d.tryPlayers(ctx, s.Players)
		return err
	}
	missed := 0
	for n := max(s.Players, firstPlayers); missed < 2; n = even(float64(n) * coarseStep) {
		holds, err := d.isSustainable(ctx, s, n)
		if err != nil {
			return err
		}
		if missed++; holds {
			missed = 0
		}
	}
	if s.Sustainable == 0 {
		return fmt.Errorf("not even %d players have answers within %v: give a smaller -duels or a larger -bound", firstPlayers, d.Bound)
	}
	// the excess players must leave first
	if err := d.setDuellists(ctx, s.Players, 2*recoveryLimit); err != nil {
		return err
	}
	if holds, err := d.isSustainable(ctx, s, even(float64(s.Players)*fineStep)); err != nil || holds {
		return err
	}
	return d.remeasure(ctx, s)
}

// remeasure measures the sustainable load again, now that the nodes have seen more. If the
// load is no longer sustainable, it reduces the players.
func (d *runner) remeasure(ctx context.Context, s *Spike) error {
	for ; s.Players >= firstPlayers; s.Players = even(float64(s.Players) / fineStep) {
		if err := d.setDuellists(ctx, s.Players, 2*recoveryLimit); err != nil {
			return err
		}
		s.Sustainable = 0
		if holds, err := d.isSustainable(ctx, s, s.Players); err != nil || holds {
			return err
		}
	}
	return fmt.Errorf("what was sustainable was not when it was measured again: the machine does other things too, or give a longer -step")
}

// isSustainable tries a number of players. They are sustainable if answers stay below the
// bound, few clients are refused, and the rate is higher than before.
func (d *runner) isSustainable(ctx context.Context, s *Spike, players int) (bool, error) {
	q, err := d.tryPlayers(ctx, players)
	if err != nil || q.N == 0 || q.P99 >= float64(d.Bound.Milliseconds()) || q.hasManyRefusals() || q.rate <= s.Sustainable {
		return false, err
	}
	s.Sustainable, s.Players = q.rate, players
	return true, nil
}

func even(n float64) int { return max(int(n)/2*2, 2) }

// measurement is the result of one measurement with a fixed number of players.
type measurement struct {
	stats.Quantiles         // of answers
	rate            float64 // answers/s
	matches         int64   // counted once for each of their players
	refusals        int64   // of all kinds
}

// hasManyRefusals reports whether more than a few of the entering clients were refused.
func (t measurement) hasManyRefusals() bool {
	return float64(t.refusals) > fewRefusals*float64(t.matches+t.refusals)
}

// tryPlayers runs so many players for one step and measures them.
func (d *runner) tryPlayers(ctx context.Context, players int) (t measurement, err error) {
	if err := d.setDuellists(ctx, players, lead*d.series.Every()+time.Duration(float64(players)/d.Ramp*float64(time.Second))); err != nil {
		return t, err
	}
	if err := d.awaitFewRefusals(ctx); err != nil {
		return t, err
	}
	return d.measure(ctx, players, d.Step)
}

// measure measures the running players for a while.
func (d *runner) measure(ctx context.Context, players int, span time.Duration) (t measurement, err error) {
	from := d.series.Span(time.Now()) + 1
	if err := d.pause(ctx, span); err != nil {
		return t, err
	}
	t = d.measured(from, d.series.Span(time.Now()))
	d.logMark("%d players: %.0f answers/s, p50 %.1f ms, p99 %.1f ms, %d turned away; %s", players, t.rate, t.P50, t.P99, t.refusals, d.usedBetween(from, d.series.Span(time.Now())))
	return t, nil
}

// awaitFewRefusals waits until few clients have been refused for some spans, within a
// bound. A node that is learning its capacity may at first ask some clients to retry.
func (d *runner) awaitFewRefusals(ctx context.Context) error {
	for until := time.Now().Add(2 * recoveryLimit); time.Now().Before(until); {
		now := d.series.Span(time.Now())
		if !d.measured(now-4, now).hasManyRefusals() {
			return nil
		}
		if err := d.pause(ctx, d.series.Every()); err != nil {
			return err
		}
	}
	return nil
}

// measured returns the measurement between two spans.
func (d *runner) measured(from, to int) measurement {
	sum := d.series.Between(from, to)
	t := measurement{Quantiles: sum.Quantiles(stats.Answer), refusals: countShed(sum.Counts), matches: sum.Quantiles(stats.Found).N}
	t.rate = float64(t.N) / (float64(max(to-from, 1)) * d.series.Every().Seconds())
	return t
}

// countShed returns how many of the counted outcomes are refusals with a clear code.
func countShed(counts map[string]int64) (n int64) {
	for name, times := range counts {
		if isClearRefusal(name) {
			n += times
		}
	}
	return n
}

// setDuellists changes the number of duellists, and waits.
func (d *runner) setDuellists(ctx context.Context, players int, span time.Duration) error {
	for i, l := range d.workers {
		n := players/len(d.workers) + min(max(players%len(d.workers)-i, 0), 1)
		if err := l.send(clients.Command{Duellists: max(n, 1)}); err != nil {
			return err
		}
	}
	return d.pause(ctx, span)
}

// recoveryTime returns the seconds until the first of three spans in a row with few
// refusals and with answers as fast as before; -1: there are none.
func (d *runner) recoveryTime(s *Spike, from, to int) float64 {
	well := 0
	for n := from; n < to; n++ {
		q := d.measured(n, n+1)
		if well++; q.N == 0 || q.hasManyRefusals() || q.P99 > max(maxSlowdown*s.Before.P99, float64(d.Slack.Milliseconds())) {
			well = 0
		}
		if well == 3 {
			return float64(n-2-from) * d.series.Every().Seconds()
		}
	}
	return -1
}

// judge records the limits that were exceeded.
func (s *Spike) judge(slack float64) {
	if highest := max(maxSlowdown*s.Before.P99, slack); s.During.P99 > highest {
		s.Failures = append(s.Failures, fmt.Sprintf("p99 of the admitted is %.1f ms in the spike, %.1f before: at most %.1f", s.During.P99, s.Before.P99, highest))
	}
	if s.Shed == 0 {
		s.Failures = append(s.Failures, "nobody was turned away in the spike")
	}
	if s.Unclear > 0 {
		s.Failures = append(s.Failures, fmt.Sprintf("%d were turned away without a clear code", s.Unclear))
	}
	if s.RecoveredS < 0 || s.RecoveredS > recoveryLimit.Seconds() {
		s.Failures = append(s.Failures, fmt.Sprintf("recovered after %.0f s (-1: not): at most %.0f", s.RecoveredS, recoveryLimit.Seconds()))
	}
}
